import { declareHalfOfTheSteps } from "./simulator-steps.ts";

declareHalfOfTheSteps("even");
