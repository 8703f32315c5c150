import React from "react";

type Props = { items: string[] };

/** Shows a cart. */
export const CartView: React.FC<Props> = ({ items }) => {
  return <ul>{items.map((i) => <li key={i}>{i}</li>)}</ul>;
};

export function Empty(): JSX.Element {
  return <p>Nothing here</p>;
}
