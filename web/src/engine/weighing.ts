/** What each head matters to one token of the translation, against a token that could have come. */

export interface Weighed {
  step: number;
  token: { id: number; text: string };
  rival: { id: number; text: string };
  lead: number; // ln of how many times likelier the token is than its rival
  leads: Record<string, number[]>; // of each block: without each head
}
