/** Invokes another function with the SDK as it comes, as a handler on AWS does. */
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';

const lambda = new LambdaClient({});

export async function handler(event: { readonly target: string; readonly payload: unknown }) {
  const { StatusCode, Payload } = await lambda.send(
    new InvokeCommand({ FunctionName: event.target, Payload: JSON.stringify(event.payload) }),
  );
  return { status: StatusCode, answered: JSON.parse(Payload?.transformToString() ?? 'null') as unknown };
}
