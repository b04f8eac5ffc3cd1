import { authenticationFailed, paymentHeaderNotAccepted } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { authorization, legacySignInWithX, paymentHeaderNames, signInWithX } from '#contract/wire/headers.ts'
import { authorizationCharacters } from './bounds.ts'

/** Every value that a request header was sent with, by its name in lower case. */
export type HeaderValues = (name: string) => readonly string[]

/** The one `Authorization` header, or null. Sent twice it is a 400, whatever else identifies the request. */
export const readAuthorization = (header: HeaderValues): string | null =>
  only(authorization.name, header(authorization.name))

/** The token of `Bearer …` (brief §5.1); any other scheme or shape is a 401. */
export function bearerToken(value: string): string {
  const token = value.length > authorizationCharacters ? undefined : /^bearer +([\w.~+/-]+=*)$/i.exec(value)?.[1]
  if (token === undefined) throw authenticationFailed()
  return token
}

/** The value of the sign-in header under either of its names, or null. Both at once must say the same. */
export function readSignInValue(header: HeaderValues): string | null {
  const value = only(signInWithX.name, header(signInWithX.name))
  const legacy = only(legacySignInWithX.name, header(legacySignInWithX.name))
  if (value !== null && legacy !== null && value !== legacy) {
    throw wrongHeader(signInWithX.name, `${signInWithX.name} and ${legacySignInWithX.name} differ; send one of them.`)
  }
  return value ?? legacy
}

/** Money is taken at the top-up alone; a payment sent anywhere else would be lost on a careless server. */
export function refusePaymentHeaders(operation: Operation, header: HeaderValues): void {
  if (operation.charge === 'payment') return
  const name = paymentHeaderNames.find(each => header(each).length > 0)
  if (name === undefined) return
  throw paymentHeaderNotAccepted({
    error: `${name} is taken by POST /x402/top-up only: buy credit there, then call this endpoint with SIGN-IN-WITH-X.`,
    code: 'PAYMENT_HEADER_NOT_ACCEPTED',
  })
}

/** The one value of a header, or null. A comma is how some servers join a header that came twice. */
function only(name: string, values: readonly string[]): string | null {
  if (values.length > 1 || values[0]?.includes(',')) throw wrongHeader(name, `${name} was sent more than once.`)
  return values[0]?.trim() ?? null
}

const wrongHeader = (name: string, message: string) => fieldError([name], message)
