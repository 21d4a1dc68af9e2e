/** A person who can sign in, as the page shows them. Who there is, the product says. */

export interface Person {
  /** The token's subject. */
  readonly sub: string;
  readonly name: string;
  readonly role: string;
  /** What the role allows, in words. */
  readonly can: string;
}

/** The person with this subject, or a plain stand-in for one who is not listed. */
export function personOf(people: readonly Person[], sub: string, roles: readonly string[] = []): Person {
  const known = people.find((person) => person.sub === sub);
  return known ?? { sub, name: sub, role: roles[0] ?? "signed in", can: "" };
}
