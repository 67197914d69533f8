import { declareHalfOfTheSteps } from "./simulator-steps.ts";

declareHalfOfTheSteps("odd");
