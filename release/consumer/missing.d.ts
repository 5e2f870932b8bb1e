// The types of @middy/core name a package that it does not ask for.
declare module '@aws/durable-execution-sdk-js' {
  export type DurableContext = never;
}
