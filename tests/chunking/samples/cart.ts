import { Item } from "./item";

/** What a customer wants. */
@Injectable()
export class Cart<T extends Item> implements Total {
  private items: T[] = [];

  /**
   * Adds an item.
   */
  @log
  async add(item: T, count = 1): Promise<void> {
    this.items.push(item);
  }

  total = (): number => this.items.length;
}

// Anything with a total.
export interface Total {
  total(): number;
}

export type Money = { amount: number };

export enum State { Open, Paid }

export const MAX_ITEMS = 99;

/** Makes one. */
export const makeCart = async (owner: string): Promise<Cart<Item>> => {
  return new Cart();
};

namespace Shop {
  export function open(): void {}
}

declare module "express" {
  function use(name: string): void;
}

export default function main() {}
