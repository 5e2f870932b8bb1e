/** The stamps and checks of a request, by its kind. */
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import type { Request } from '../../test/support/machines/network.ts';

/** Returns the nonce that a request stamps, wherever its kind carries it; for a transaction without one, its token. */
export function nonceOf(request: Request): string | undefined {
  const input = request.input as Write & {
    readonly TransactItems?: readonly { readonly Update?: Write; readonly Put?: Write }[];
    readonly ClientRequestToken?: string;
  };
  if (input.TransactItems === undefined) return nonceIn(input);
  for (const { Update, Put } of input.TransactItems) {
    const nonce = nonceIn(Update ?? Put ?? {});
    if (nonce !== undefined) return nonce;
  }
  return input.ClientRequestToken;
}

export function checksFirst({ input }: Request): boolean {
  const { TransactItems: [first] = [] } = input as { readonly TransactItems?: readonly object[] };
  return first !== undefined && 'ConditionCheck' in first;
}

export interface Write {
  readonly Item?: DynamoItem;
  readonly ExpressionAttributeValues?: DynamoItem;
}

function nonceIn({ Item, ExpressionAttributeValues }: Write): string | undefined {
  const { ':nonce': stamped, ':follower': follower } = ExpressionAttributeValues ?? {};
  const nonce = Item?.nonce ?? stamped ?? (follower as DynamoItem | undefined)?.nonce;
  return typeof nonce === 'string' ? nonce : undefined;
}
