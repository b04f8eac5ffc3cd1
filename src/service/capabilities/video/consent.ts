import { needsConsent } from '#contract/errors/errors.ts'
import type { FaceMediaRole } from '#contract/errors/failures.ts'
import { fieldError } from '#contract/errors/issues.ts'
import type { VideoQueueRequest } from '#contract/operations/video.ts'
import { type Clock, dayMs } from '#contract/time.ts'
import type { FaceDetector } from '#engines/ports/media-engines.ts'
import type { TakenMediaItem } from '#engines/video-media/video-media.ts'
import type { Store } from '#ledger/store/store.ts'
import type { UseNonce } from '#ledger/store/units.ts'
import type { ConsentOrder } from '../../http/service.ts'
import type { ConsentPolicy, VideoModel } from '../../models/model.ts'

/** How long an attestation is valid for the same bytes and the same version of a policy. */
const attestationMs = 365 * dayMs

interface ConsentParts {
  faces: FaceDetector
  attestations: Attestations
  /** Where users read the policy of a provider. */
  policyUrl: (provider: string) => string
}

/**
 * Throws `needsConsent` if media with a face come without an attestation (brief §3.2). Nothing is held or charged
 * before it. Text alone never needs consent, and neither do bytes that this account has attested under the same policy.
 * New attestations are written in the unit of work that accepts the job, so none is stored for a job that was never
 * accepted.
 */
export async function requireConsent(
  order: ConsentOrder,
  { faces, attestations, policyUrl }: ConsentParts,
): Promise<UseNonce[]> {
  const { account, model, request, media, signal } = order
  const { consent } = model
  refuseUnknownProviders(model, request)
  const shown = media.filter(({ role }) => role !== null)
  if (!consent || shown.length === 0) return []
  const under = { account, policy: `${consent.provider} ${consent.version}` }
  if (request.consents?.[consent.provider]) return attestations.marks(under, hashesOf(shown))
  const attested = await attestations.of(under, hashesOf(shown))
  const roles = await rolesWithFaces(
    shown.filter(({ hash }) => !attested.has(hash)),
    faces,
    signal,
  )
  if (roles.length) throw consentNeeded(consent, roles, policyUrl(consent.provider))
  return []
}

const hashesOf = (media: readonly TakenMediaItem[]): string[] => [...new Set(media.map(({ hash }) => hash))]

async function rolesWithFaces(
  media: readonly TakenMediaItem[],
  faces: FaceDetector,
  signal: AbortSignal,
): Promise<FaceMediaRole[]> {
  const roles = new Set<FaceMediaRole>()
  for (const item of media) {
    const { role, rule } = item
    if (role === null || roles.has(role) || rule.kind === 'audio') continue
    const shown = { kind: rule.kind, bytes: item.bytes, format: item.format }
    if (await faces.hasFace(shown, signal)) roles.add(role)
  }
  return [...roles]
}

const consentNeeded = ({ provider, title, version, text }: ConsentPolicy, roles: FaceMediaRole[], docsUrl: string) =>
  needsConsent({
    error: { code: 'needs_consent', message: `${title} consent is required for this request.` },
    consent_flow: provider,
    face_media_roles: roles,
    consent: { consent_version: version, policy_text: text },
    docs_url: docsUrl,
  })

/** Refuses unknown members of `consents`: consent to one provider's policy is not consent to another's. */
function refuseUnknownProviders(model: VideoModel, request: VideoQueueRequest): void {
  const provider = model.consent?.provider
  for (const given of Object.keys(request.consents ?? {})) {
    if (given === provider) continue
    const allowed = provider ? `allowed value: ${provider}` : `${model.id} needs no consent; leave it out`
    throw fieldError(['consents', given.slice(0, 64)], `is not this model's provider; ${allowed}`)
  }
}

/** The account that attested, and the policy and its version. */
interface AttestedUnder {
  account: string
  policy: string
}

/**
 * Media that a user has attested, by the hash of their bytes (published contract §4.3). They are stored with the
 * single-use keys; if an entry exists, no further consent is needed.
 */
export class Attestations {
  readonly #store: Store
  readonly #clock: Clock

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#store = store
    this.#clock = clock
  }

  /** Returns those of `hashes` that were attested. */
  async of(under: AttestedUnder, hashes: readonly string[]): Promise<Set<string>> {
    const keys = new Map(hashes.map(hash => [keyOf(under, hash), hash]))
    const rows = await this.#store.read
      .selectFrom('nonce')
      .select('id')
      .where('id', 'in', [...keys.keys()])
      .where('expires_at_ms', '>', this.#clock.now())
      .execute()
    return new Set(rows.flatMap(({ id }) => keys.get(id) ?? []))
  }

  /**
   * Returns the operations that record those of `hashes` that are not attested yet. They are refused if another request
   * was faster, in which case the entry exists anyway.
   */
  async marks(under: AttestedUnder, hashes: readonly string[]): Promise<UseNonce[]> {
    const known = await this.of(under, hashes)
    const expiresAtMs = this.#clock.now() + attestationMs
    return hashes.filter(hash => !known.has(hash)).map(hash => ({ op: 'nonce', key: keyOf(under, hash), expiresAtMs }))
  }
}

const keyOf = ({ account, policy }: AttestedUnder, hash: string): string => `attested:${account}:${policy}:${hash}`
