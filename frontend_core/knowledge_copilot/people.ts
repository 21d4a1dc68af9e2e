/** The people of the demo. Each has another role of backend-core, so that its permissions can be tried by hand. */

import type { Person } from "../chat/auth/person";

export const PEOPLE: readonly [Person, ...Person[]] = [
  { sub: "alice", name: "Alice", role: "admin", can: "Can read, add and delete sources" },
  { sub: "carol", name: "Carol", role: "contributor", can: "Can read and add sources" },
  { sub: "bob", name: "Bob", role: "reader", can: "Can read and ask" },
];
