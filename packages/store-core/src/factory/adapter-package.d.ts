/** What the build knows of an adapter's package, which depends on this one and is built later. See `paths` in tsconfig.json. */
export {};
