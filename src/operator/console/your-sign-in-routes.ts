import { z } from 'zod'
import { PageRefusal } from '#host/pages/page-guards.ts'
import {
  type Notice,
  type PasskeyCreation,
  type PasswordSetup,
  type ProofWays,
  passwordCharacters,
  type SessionView,
  type YourSignIn,
} from '#pages/console/wire.ts'
import { type OperatorSession, sessionMs } from '../sign-in/operator-sessions.ts'
import { type ConsoleRoute, type ConsoleRoutes, type RouteContext, refusing } from './console-route.ts'
import { passkeyPlaces, passwordTyped } from './entry-routes.ts'

const label = z.string().trim().min(1).max(60)

function parsed<Shape extends z.ZodRawShape>(shape: Shape, body: object) {
  const read = z.object(shape).safeParse(body)
  if (read.success) return read.data
  throw new PageRefusal(400, 'The request of this page is invalid.', 'Reload the page.')
}

const placeHere = (origin: string, { origins }: RouteContext) => {
  const { here, elsewhere } = passkeyPlaces(origin, origins)
  if (here) return here
  throw new PageRefusal(
    409,
    'Browsers do not allow passkeys for an IP address.',
    elsewhere ? `Open the console at ${elsewhere}.` : 'Open the console at a host name.',
  )
}

const sessionView = (
  { hash, by, role, how, untilMs, usedAtMs }: OperatorSession & { usedAtMs: number },
  own: OperatorSession,
): SessionView => ({
  ...{ session: hash.slice(0, shownHash), by, role, how, usedAtMs },
  ...{ beganAtMs: untilMs - sessionMs, isThis: hash === own.hash },
})

/** The length of a session's id that distinguishes it from others. */
const shownHash = 12

/** Sessions that an operator sees and may end: their own, and all of them for owners. */
const seenBy = async (me: OperatorSession, { sessions }: RouteContext) =>
  (await sessions.list()).filter(({ by }) => me.role === 'owner' || by === me.by)

/** The operator's own ways to sign in and proof of identity, for every role. */
const own = (run: ConsoleRoute['run'], proof?: true): ConsoleRoute => ({
  role: 'read',
  ...(proof ? { proof } : {}),
  run: refusing(run),
})

export const yourSignInRoutes: ConsoleRoutes = {
  'POST /api/your-sign-in': own(async ({ session, origin }, context): Promise<YourSignIn> => {
    const { here, elsewhere } = passkeyPlaces(origin, context.origins)
    const passkeys = await context.signIn.passkeysOf(session)
    return {
      passkeys: passkeys.map(({ id, rpId: host, ...rest }) => ({
        ...{ id, host, label: rest.label, addedAtMs: rest.addedAtMs, usedAtMs: rest.usedAtMs },
      })),
      ...{ passkeyHost: here?.rpId ?? null, passkeysAt: elsewhere },
      passwordSinceMs: await context.signIn.passwordSince(session),
      sessions: (await seenBy(session, context)).map(each => sessionView(each, session)),
    }
  }),
  'POST /api/your-sign-in/passkey-request': own(
    ({ session, origin }, context): Promise<PasskeyCreation> =>
      context.signIn.creation(session, placeHere(origin, context)),
    true,
  ),
  'POST /api/your-sign-in/add-passkey': own(async ({ session, origin, body }, context): Promise<Notice> => {
    const sent = parsed({ label, credential: z.unknown() }, body)
    await context.signIn.addPasskey(session, sent.credential, sent.label, placeHere(origin, context))
    return { said: `The passkey ${sent.label} was added; it signs you in from now on.` }
  }, true),
  'POST /api/your-sign-in/remove-passkey': own(async ({ session, body }, { signIn }): Promise<Notice> => {
    await signIn.removePasskey(session, parsed({ id: z.string() }, body).id)
    return { said: 'The passkey was removed.' }
  }, true),
  'POST /api/your-sign-in/password-request': own(async ({ session }, { signIn }): Promise<PasswordSetup> => {
    const setup = await signIn.passwordSetup(session)
    const { qrCode } = await import('#host/pages/qr-code.ts')
    return { ...setup, qr: qrCode(setup.uri) }
  }, true),
  'POST /api/your-sign-in/set-password': own(async ({ session, body }, { signIn }): Promise<Notice> => {
    const { password } = parsed({ password: z.string() }, body)
    const { least, most } = passwordCharacters
    if (password.length < least || password.length > most)
      throw new PageRefusal(400, `The password has ${password.length} characters.`, `Use ${least} to ${most}.`)
    const { setup, code } = parsed({ setup: z.string().max(1_000), code: z.string().max(20) }, body)
    await signIn.setPassword(session, { password, code }, setup)
    return { said: 'The password is set. It signs you in with a code from your authenticator.' }
  }, true),
  'POST /api/your-sign-in/remove-password': own(async ({ session }, { signIn }): Promise<Notice> => {
    await signIn.removePassword(session)
    return { said: 'The password was removed.' }
  }, true),
  'POST /api/your-sign-in/end-session': own(async ({ session: me, body }, context): Promise<Notice> => {
    const { session } = parsed({ session: z.string().length(shownHash) }, body)
    const found = (await seenBy(me, context)).find(({ hash }) => hash.startsWith(session))
    if (!found) throw new PageRefusal(409, 'This session has already ended.', 'Reload the page.')
    await context.sessions.end(found)
    return { said: `The session of ${found.by} has ended.` }
  }),
  'POST /api/prove/ways': own(async ({ session, origin }, context): Promise<ProofWays> => {
    const { here } = passkeyPlaces(origin, context.origins)
    return {
      passkey: here && (await context.signIn.proofRequest(session, here)),
      password: (await context.signIn.passwordSince(session)) !== null,
    }
  }),
  'POST /api/prove': own(async ({ session, origin, body, ...from }, context): Promise<Notice> => {
    const typed = z.object(passwordTyped).safeParse(body).data
    const { signIn, sessions } = context
    const { devices, tries } = signIn
    const counted = typed
      ? devices.countedFor(session.by, from)
      : [devices.countedHere(from), { of: `operator ${session.by}` }]
    const begun = await tries.begin(...counted)
    if (typeof begun === 'number')
      throw new PageRefusal(
        429,
        'There were too many failed attempts.',
        `Wait ${Math.ceil(begun / 1_000)} seconds, then try again.`,
      )
    const byPasskey = () =>
      signIn.provesByPasskey(session, parsed({ credential: z.unknown() }, body).credential, placeHere(origin, context))
    const isProven = await (typed ? signIn.provesByPassword(session, typed) : byPasskey())
    if (!isProven) throw new PageRefusal(409, 'The confirmation failed.', 'Try again; each code works once.')
    await begun.right()
    await sessions.prove(session.hash)
    return { said: 'Confirmed for five minutes.' }
  }),
}
