import { expect, test } from 'vitest'
import { limitHit } from '#access/limits/limit-log.ts'
import { errorKinds } from '#contract/errors/errors.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { createChatCompletion } from '#contract/operations/chat.ts'
import type { Principal } from '#ledger/accounts/principal.ts'

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
