import { signal } from '@preact/signals'
import { type Me, type OperatorRole, operatorRoles } from './wire.ts'

/** Who is signed in, as the server said the last time. */
export const me = signal<Me | null>(null)

/** What came of the last act. */
export const said = signal('')

/** Whether the operator may do what this role may. The server decides again. */
export const may = (role: OperatorRole): boolean =>
  me.value !== null && operatorRoles.indexOf(me.value.role) >= operatorRoles.indexOf(role)
