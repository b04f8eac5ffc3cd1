import { z } from 'zod'
import type { SessionSecrets } from '#access/identity/browser-sessions.ts'
import { newPageSecret, PageRefusal } from '#host/pages/page-guards.ts'
import { passwordCharacters, type SignInWays } from '#pages/console/wire.ts'
import { operatorName } from '../sign-in/operator-rows.ts'
import type { Operator } from '../sign-in/operator-sessions.ts'
import { rpIdOf } from '../sign-in/passkeys.ts'
import type { PasskeyPlace } from '../sign-in/sign-in.ts'
import type { Counted } from '../sign-in/tries.ts'
import type { RouteContext } from './console-route.ts'

/** A request without a session. */
export interface EntryAsked {
  body: object
  /** The console's address in the browser. */
  origin: string
  /** The network address. */
  address: string
  /** A secret that only this browser has, in a cookie that lasts as long as a challenge; empty if there is none. */
  browser: string
  /** The cookie of a browser in which an operator has signed in before; empty if there is none. */
  device: string
}

/** A new session, the content of a page without one, or how long to wait. */
export type Entered = { begun: SessionSecrets & Operator } | { shown: object; browser: string } | { waitMs: number }

export type Entry = (asked: EntryAsked, context: RouteContext) => Promise<Entered>

const orLink = 'Or run `farebox console` on the service’s machine for a link.'

export const nextStep = 'Run `farebox console` on the service’s machine for a new link.'

/** An address of this console at which passkeys work, this one if possible. */
export function passkeyPlaces(
  origin: string,
  origins: readonly string[],
): { here: PasskeyPlace | null; elsewhere: string | null } {
  const rpId = rpIdOf(origin)
  if (rpId !== null) return { here: { origin, rpId }, elsewhere: null }
  return { here: null, elsewhere: origins.find(other => rpIdOf(other) !== null) ?? null }
}

/** Longest text that a user types; nothing longer is hashed. */
export const passwordTyped = {
  password: z.string().min(1).max(passwordCharacters.most),
  code: z.string().regex(/^\d{6}$/),
}

const PasswordSignIn = z.object({ operator: z.string().regex(operatorName), ...passwordTyped })

/** One sentence for whatever is wrong, so that a guess learns nothing. */
const notProven = {
  passkey: ['This passkey does not sign you in here.', `Try again, or use another passkey. ${orLink}`],
  password: [
    'The name, the password or the code is wrong.',
    `Type all three again, with the code that your authenticator shows now; each code works once. ${orLink}`,
  ],
} as const

/** Checks a secret as a counted try, which may have to wait after failures. */
async function tried(
  { signIn, sessions }: RouteContext,
  counted: readonly Counted[],
  prove: () => ReturnType<RouteContext['signIn']['byPasskey']>,
  how: 'passkey' | 'password',
): Promise<Entered> {
  const begun = await signIn.tries.begin(...counted)
  if (typeof begun === 'number') return { waitMs: begun }
  const operator = await prove()
  const session = operator && (await sessions.begin(operator, how))
  if (!session) {
    const [happened, next] = notProven[how]
    throw new PageRefusal(401, happened, next)
  }
  await begun.right()
  return { begun: session }
}

/** Operations that need no session, by method and path. */
export const entryRoutes: Readonly<Record<string, Entry>> = {
  'POST /api/sign-in': async ({ origin, browser }, { signIn, origins }) => {
    const { here, elsewhere } = passkeyPlaces(origin, origins)
    const own = browser || newPageSecret()
    const shown: SignInWays = { passkey: here && signIn.passkeyRequest(here, own), passkeysAt: elsewhere }
    return { shown, browser: own }
  },
  'POST /api/sign-in/passkey': async (asked, context) => {
    const { here } = passkeyPlaces(asked.origin, context.origins)
    const { credential } = asked.body as { credential?: unknown }
    return tried(
      context,
      [context.signIn.devices.countedHere(asked)],
      async () => (here && asked.browser ? context.signIn.byPasskey(credential, here, asked.browser) : null),
      'passkey',
    )
  },
  'POST /api/sign-in/password': async (asked, context) => {
    const { signIn } = context
    const given = PasswordSignIn.safeParse(asked.body).data
    return tried(
      context,
      given ? signIn.devices.countedFor(given.operator, asked) : [signIn.devices.countedHere(asked)],
      async () => (given ? signIn.byPassword(given.operator, given) : null),
      'password',
    )
  },
}
