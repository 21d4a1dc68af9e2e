/** The people of the demo. Each is a role of backend-core, so that RBAC can be tried by hand. */

export interface Person {
  readonly sub: string;
  readonly name: string;
  readonly role: string;
  readonly can: string;
}

export const PEOPLE: readonly Person[] = [
  { sub: "alice", name: "Alice", role: "admin", can: "Can read, add and delete sources" },
  { sub: "carol", name: "Carol", role: "contributor", can: "Can read and add sources" },
  { sub: "bob", name: "Bob", role: "reader", can: "Can read and ask" },
];

/** The demo person with this subject, or a plain stand-in for a subject we do not know. */
export function personOf(sub: string, roles: readonly string[] = []): Person {
  const known = PEOPLE.find((person) => person.sub === sub);
  return known ?? { sub, name: sub, role: roles[0] ?? "signed in", can: "" };
}
