import { authenticationFailed, keyNotFound } from '#contract/errors/errors.ts'
import type { CreateKeyRequest, UpdateKeyRequest } from '#contract/operations/keys.ts'
import type { Clock } from '#contract/time.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import type { Store } from '#ledger/store/store.ts'
import { type ApiKeyRecord, type ApiKeys, type CreatedKey, counts } from './api-keys.ts'
import { keyChange, keyMoved, keyOrder, orderBy, requireMayTouch, requireNoRaise, tooManyKeys } from './key-order.ts'

/** A caller's actions on its account's keys, the same over the API and on the customers' page. */

interface KeyParts {
  keys: Pick<ApiKeys, 'keptOne' | 'create' | 'revoke' | 'requireSecret'>
  store: Pick<Store, 'read'>
  clock: Clock
}

/** Returns the current state of the caller's key, because the cached one may be a second old. Throws 401. */
export async function callerKey(
  { keys, clock }: Pick<KeyParts, 'clock'> & { keys: Pick<ApiKeys, 'keptOne'> },
  principal: Principal,
): Promise<ApiKeyRecord> {
  const key = principal.kind === 'key' ? await keys.keptOne(principal.account, principal.keyId) : null
  if (!key || !counts(key, clock.now())) throw authenticationFailed()
  return key
}

/** Returns a key of this account. Throws 404 for a deleted key, and for another account's. */
export async function ownKey(
  { keys }: { keys: Pick<ApiKeys, 'keptOne'> },
  account: string,
  id: string,
): Promise<ApiKeyRecord> {
  const key = await keys.keptOne(account, id)
  if (!key) throw keyNotFound()
  return key
}

/** Retries if another change was written in between, based on the new state. */
export async function untilUnmoved<Result>(
  signal: AbortSignal | null,
  attempt: () => Promise<Result>,
): Promise<Result> {
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (!keyMoved(error)) throw error
      signal?.throwIfAborted()
    }
  }
}

/**
 * Creates a key for the caller's account. If the calling key has a budget, the new key gets a part of it; a wallet has
 * no budget. Throws 400 for a grant beyond the caller's rights, and if the account has too many keys.
 */
export async function createKeyFor(
  parts: KeyParts,
  principal: Principal,
  request: CreateKeyRequest,
  signal: AbortSignal | null = null,
): Promise<CreatedKey> {
  const { keys, store, clock } = parts
  const order = keyOrder(principal.account, request, clock.now())
  await keys.requireSecret()
  const creating = untilUnmoved(signal, async () => {
    if (principal.kind === 'wallet') return keys.create(order)
    const caller = await callerKey(parts, principal)
    return keys.create(await orderBy(caller, order, { store, nowMs: clock.now() }))
  })
  return creating.catch(error => {
    throw tooManyKeys(error) ?? error
  })
}

/**
 * Changes the label, the budget or the expiry of a key. Throws 403 for another key if the caller's has a budget, 400 if
 * it would raise its own, and 404 for a key that its account does not have.
 */
export async function changeKeyFor(
  { keys, clock }: Pick<KeyParts, 'clock'> & { keys: Pick<ApiKeys, 'keptOne' | 'setBudget'> },
  principal: Principal,
  request: UpdateKeyRequest,
  signal: AbortSignal | null = null,
): Promise<void> {
  await untilUnmoved(signal, async () => {
    const caller = principal.kind === 'key' ? await callerKey({ keys, clock }, principal) : null
    const key = caller?.id === request.id ? caller : await ownKey({ keys }, principal.account, request.id)
    if (caller) requireMayTouch(caller, key.id)
    const { budget, more } = keyChange(key, request, clock.now())
    if (caller === key) requireNoRaise(key, budget, more)
    await keys.setBudget(key.id, budget, more)
  })
}

/** Throws 403 for another key if the caller's has a budget, and 404 for a key that its account does not have. */
export async function revokeKeyFor(parts: KeyParts, principal: Principal, id: string): Promise<void> {
  const caller = principal.kind === 'key' ? await callerKey(parts, principal) : null
  const key = await ownKey(parts, principal.account, id)
  if (caller) requireMayTouch(caller, key.id)
  await parts.keys.revoke(key.id)
}
