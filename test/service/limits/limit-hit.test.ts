import { expect, test } from 'vitest'
import { createChatCompletion } from '#contract/chat.ts'
import { errorKinds } from '#contract/errors.ts'
import { ServiceError } from '#contract/service-error.ts'
import type { Principal } from '#service/callers/principal.ts'
import { limitHit } from '#service/limits/limit-hit.ts'

const ada: Principal = { kind: 'wallet', account: 'ada', wallet: 'ada', plan: 'default', isNew: false }

/** A 429 that no limit of the caller is the reason for. */
const ofOthers = new Set(['MODEL_OVERLOADED'])

test.each(errorKinds.map(kind => [kind.kind, kind] as const))(
  '§11.2 %s is a row where it is a limit',
  (_name, kind) => {
    const hit = limitHit(ada, { operation: createChatCompletion, model: null }, new ServiceError(kind, {}))
    expect(hit !== null).toBe(kind.status === 429 && !ofOthers.has(kind.kind))
    if (hit) expect(['RPM', 'TPM', 'RPD', 'FAILED_REQUESTS']).toContain(hit.type)
  },
)
