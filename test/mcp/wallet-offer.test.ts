import type { ClientCapabilities, ElicitResult } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import { zeroUsd } from '#contract/money.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import type { ToolHost } from '#toolkit/tool-host.ts'
import { connect, type Era, eras, textOf } from './connect.ts'
import { fakeHost } from './fake-host.ts'

const link = 'http://127.0.0.1:5/open/secret'
const next = 'Ask the user to run `farebox wallet create`.'

/** A host without a wallet, until the user has made one while a call waits. */
function walletless(isMade: () => boolean) {
  const { host } = fakeHost()
  const offers: string[] = []
  let waits = 0
  const without: ToolHost = {
    ...host,
    context(invocation) {
      if (isMade() && waits > 0) return host.context(invocation)
      throw new ToolFailure({ happened: 'Nothing pays.', charged: zeroUsd, next, isWithoutWallet: true })
    },
    async offerWallet() {
      offers.push(link)
      return { link, asks: 'Make a wallet?' }
    },
    async walletMade() {
      waits++
    },
  }
  return { host: without, offers, waits: () => waits }
}

interface Asked {
  mode?: string
  message: string
  url?: string
  requestedSchema?: unknown
}

async function call(era: Era, elicitation: ClientCapabilities['elicitation'], answer: ElicitResult, isMade = true) {
  const wallet = walletless(() => isMade)
  const { client, disconnect } = await connect({
    era,
    host: wallet.host,
    capabilities: elicitation ? { elicitation } : {},
  })
  const asked: Asked[] = []
  if (elicitation)
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      asked.push(params as Asked)
      return answer
    })
  const result = await client.callTool({ name: 'limits', arguments: {} })
  await disconnect()
  return { asked, result, text: textOf(result), ...wallet }
}

describe.each(eras)('a paid call without a wallet, in the %s era', era => {
  test('a client that opens links is handed the link, and the call goes on with the wallet', async () => {
    const { asked, result, waits } = await call(era, { url: {} }, { action: 'accept' })
    expect(asked).toMatchObject([{ mode: 'url', url: link, message: 'Make a wallet?' }])
    expect([result.isError ?? false, waits()]).toEqual([false, 1])
  })

  test('a client with forms alone shows the link in one that takes no text', async () => {
    const { asked, result } = await call(era, { form: {} }, { action: 'accept', content: { done: true } })
    expect(asked[0]?.message).toContain(link)
    expect(asked[0]?.requestedSchema).toMatchObject({ properties: { done: { type: 'boolean' } } })
    expect(result.isError ?? false).toBe(false)
  })

  test('the words for the model never have the link in them', async () => {
    for (const answer of [{ action: 'decline' }, { action: 'accept' }] as const) {
      const { text } = await call(era, { url: {} }, answer, false)
      expect(text).not.toContain(link)
    }
  })

  test('a user who declines is asked once, and the model gets the command', async () => {
    const { asked, text, waits } = await call(era, { url: {}, form: {} }, { action: 'decline' })
    expect([asked.length, waits()]).toEqual([1, 0])
    expect(text).toContain(next)
  })

  test('a user who is not done in time is not asked again by the same call', async () => {
    const { asked, text } = await call(era, { url: {} }, { action: 'accept' }, false)
    expect(asked).toHaveLength(1)
    expect(text).toMatch(/page .* is open .* repeat the call/)
  })

  test('a client that can ask nothing is offered no page', async () => {
    const { text } = await call(era, undefined, { action: 'accept' })
    expect(text).toContain(next)
    expect(text).not.toContain(link)
  })
})
