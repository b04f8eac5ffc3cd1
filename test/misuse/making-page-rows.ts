import { readSettings } from '#agent/settings/settings.ts'
import { createHost } from '#agent/tools/tool-host.ts'
import { temporaryFolder } from '../agent/open-agent.ts'
import { pretendService } from '../agent/pretend-service.ts'
import { canaryPassphrase as passphrase } from '../canary/canaries.ts'
import { answered, misusedPage, type PageMistake } from './page-mistake.ts'

const caps = { maxPaymentUsd: '5', maxDayUsd: '10', maxTotalUsd: '20', maxCallUsd: '10', askAboveUsd: '1' }
const whole = { ...caps, place: 'passphrase', passphrase, again: passphrase, first: 'ask' }

type Opened = Awaited<ReturnType<typeof open>>

async function open() {
  const service = await pretendService()
  const { settings } = readSettings({ FAREBOX_DATA: temporaryFolder(), FAREBOX_BASE_URL: service.baseUrl })
  const host = await createHost(async () => settings, { file: null, read: async () => null })
  const link = (await ((await host.now?.()) ?? host).offerWallet?.())?.link ?? ''
  const first = await fetch(link, { redirect: 'manual' })
  const home = first.headers.get('location') ?? ''
  const cookie = first.headers.get('set-cookie')?.split(';')[0] ?? ''
  const token = /name="form" value="([^"]+)"/.exec(await (await fetch(home, { headers: { cookie } })).text())?.[1] ?? ''
  return {
    ...{ link, home, cookie, token },
    names: [[new URL(home).host, '127.0.0.1:PORT']] as const,
    async close() {
      await host.close()
      await service.close()
    },
  }
}

const wrong = (what: string, fields: Record<string, string>): PageMistake<Opened> =>
  sent(what, ({ token }) => ({ ...whole, ...fields, form: token }), 200)

const sent = (
  what: string,
  fields: (opened: Opened) => Record<string, string>,
  status: number,
  changed: Record<string, string> = {},
): PageMistake<Opened> => [
  what,
  async opened => {
    const headers = { cookie: opened.cookie, origin: new URL(opened.home).origin, ...changed }
    const body = new URLSearchParams(fields(opened))
    return answered(await fetch(`${opened.home}answer`, { method: 'POST', headers, body }))
  },
  status,
]

const seen = (what: string, url: (opened: Opened) => string, status: number, isOwn = true): PageMistake<Opened> => [
  what,
  async opened => answered(await fetch(url(opened), isOwn ? { headers: { cookie: opened.cookie } } : {})),
  status,
]

const mistakes: readonly PageMistake<Opened>[] = [
  wrong('passphrases that differ', { again: 'another passphrase' }),
  wrong('a short passphrase', { passphrase: 'short', again: 'short' }),
  wrong('a passphrase that is too long', { passphrase: 'ü'.repeat(1_025), again: 'ü'.repeat(1_025) }),
  wrong('a whole file as a passphrase', { passphrase: 'x'.repeat(40_000) }),
  wrong('no passphrase', { passphrase: '', again: '' }),
  wrong('no place for the keys', { place: '' }),
  wrong('no button', { first: '' }),
  wrong('a cap above the environment’s', { maxDayUsd: '11' }),
  wrong('a cap below zero', { maxCallUsd: '-1' }),
  wrong('a cap that is not an amount', { maxTotalUsd: 'all' }),
  wrong('a cap with a comma', { maxTotalUsd: '1,5' }),
  wrong('a cap in other digits', { maxTotalUsd: '٣' }),
  wrong('a cap in powers of ten', { maxTotalUsd: '1e9' }),
  wrong('an empty cap', { askAboveUsd: '' }),
  seen('a used link', ({ link }) => link, 410, false),
  seen('a browser that blocks cookies', ({ home }) => home, 403, false),
  seen('a page by another name', ({ home }) => home.replace('127.0.0.1', 'localhost'), 403),
  seen('an unknown page', ({ home }) => `${home}caps`, 404),
  seen('an earlier page', ({ home }) => home.replace(/\/p\/[^/]*/, '/p/earlier'), 403),
  sent('a form of another site', ({ token }) => ({ ...whole, form: token }), 403, { origin: 'https://evil.example' }),
  sent('a form of an earlier page', () => ({ ...whole, form: 'earlier' }), 403),
]

export const makingPage = misusedPage('making a wallet', open, mistakes)
