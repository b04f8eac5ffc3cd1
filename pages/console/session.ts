import { signal } from '@preact/signals'
import { type Me, type OperatorRole, operatorRoles } from './wire.ts'

/** Who is signed in, as last reported by the server. */
export const me = signal<Me | null>(null)

/** Whether the operator has this role. The server checks it again. */
export const may = (role: OperatorRole): boolean =>
  me.value !== null && operatorRoles.indexOf(me.value.role) >= operatorRoles.indexOf(role)
