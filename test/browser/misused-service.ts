import { rmSync } from 'node:fs'
import { createKey } from '#access/keys/api-keys.ts'
import { readSettings } from '#agent/settings/settings.ts'
import { createHost } from '#agent/tools/tool-host.ts'
import { systemClock } from '#contract/time.ts'
import { Listener } from '#service/http/listener.ts'
import { temporaryFolder } from '../agent/open-agent.ts'
import { pretendService } from '../agent/pretend-service.ts'
import { openService, type TestClock } from '../service/open-service.ts'

export type MisusedService = Awaited<ReturnType<typeof serveAccount>>

/** A service with one customer, on a port of this machine. */
export async function serveAccount() {
  const listener = await Listener.open({ host: '127.0.0.1', port: 0 })
  const origin = `http://127.0.0.1:${listener.port}`
  const service = await openService({ clock: systemClock as TestClock, settings: { publicUrl: origin } })
  listener.serve(service.service.app.fetch)
  const { keys } = service.service
  const order = { amountMicroUsd: 5_000_000n, label: 'Office', role: 'ADMIN' } as const
  const { key: admin, keyId } = await createKey({ keys, now: Date.now }, order)
  return {
    ...{ origin, admin },
    revokeAdmin: () => keys.revoke(keyId),
    /** Sends so many failed requests from this machine that the API blocks it. */
    async block() {
      for (let sent = 0; sent < 22; sent++) await fetch(`${origin}/api/v1/chat/completions`, { method: 'POST' })
    },
    async close() {
      await listener.close(0)
      await service.close()
    },
  }
}

/** The page that an assistant offers at its first paid call. */
export async function openMakingPage() {
  const service = await pretendService()
  const folder = temporaryFolder()
  const { settings } = readSettings({ FAREBOX_DATA: folder, FAREBOX_BASE_URL: service.baseUrl })
  const host = await createHost(async () => settings, { file: null, read: async () => null })
  const link = (await ((await host.now?.()) ?? host).offerWallet?.())?.link ?? ''
  return {
    link,
    async close() {
      await host.close()
      await service.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
