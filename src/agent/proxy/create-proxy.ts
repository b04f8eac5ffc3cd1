import { randomBytes } from 'node:crypto'
import type { AgentDesks } from '../agent-desks.ts'
import { createDesks } from '../create-desks.ts'
import { payingFetch } from '../fetch/paying-fetch.ts'
import type { AgentSettings } from '../settings/settings.ts'
import { placeOf } from '../words/as-typed.ts'
import { nobodyPays } from '../words/explain.ts'
import { typedWords } from '../words/typed-words.ts'
import { tokenBytes } from './bounds.ts'
import { openProxy } from './open-proxy.ts'
import { asProxyProblem } from './proxy-problem.ts'

/** A proxy that runs, and what the person who started it has to know. */
export interface RunningProxy {
  url: string
  /** What programs send as their API key. */
  token: string
  serviceUrl: string
  /** The wallet's address; null where an API key pays. */
  wallet: string | null
  close(): Promise<void>
}

/**
 * Opens an address on this machine that pays for whatever program knows its token, under the policy of the settings.
 * Throws `ProxyProblem` for what a person can mend: nothing pays, a wrong passphrase, a port that is taken.
 */
export async function createProxy(
  settings: AgentSettings,
  passphrase: string | null,
  port: number,
): Promise<RunningProxy> {
  try {
    return await open(settings, await createDesks(settings, passphrase), port)
  } catch (error) {
    throw asProxyProblem(error, port)
  }
}

async function open(settings: AgentSettings, desks: AgentDesks, port: number): Promise<RunningProxy> {
  try {
    const { core, models, receipts } = desks
    if (core.pays === 'nothing') throw typedWords(nobodyPays(core, 'farebox proxy'), placeOf(core))
    const token = settings.proxyToken ?? `fbx_${randomBytes(tokenBytes).toString('base64url')}`
    // What comes through may be written by a model: a consent in it is nobody's.
    const fetch = payingFetch(core, { models, receipts, unpriced: settings.unpricedCalls, takesConsents: false })
    const { baseUrl } = core.client.address
    const proxy = await openProxy({ port, fetch, baseUrl, token, clock: core.clock, place: placeOf(core) })
    const close = async () => {
      await proxy.close()
      await desks.close()
    }
    return { url: proxy.url, token, serviceUrl: baseUrl, wallet: core.wallet?.address ?? null, close }
  } catch (error) {
    await desks.close()
    throw error
  }
}
