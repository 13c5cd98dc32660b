/** The places of the largest values that together make up a share of the sum, largest first. */
export function strongest(row: readonly number[], share: number): number[] {
  const whole = row.reduce((sum, each) => sum + each, 0);
  const order = row.map((_, place) => place).sort((a, b) => row[b]! - row[a]!);
  const found: number[] = [];
  let sum = 0;
  for (const place of order) {
    if (row[place]! <= 0 || (share < 1 && sum >= share * whole - 1e-9)) break;
    found.push(place);
    sum += row[place]!;
  }
  return found;
}
