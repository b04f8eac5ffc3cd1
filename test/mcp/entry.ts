import { serveMcp } from '#mcp/stdio.ts'
import { catalogue } from './catalogue.ts'

/** A whole server process over a scripted host, which is loaded when the first call makes it. */
const session = serveMcp({
  name: 'farebox',
  version: '0.0.0',
  tools: ['all'],
  catalogue,
  async host() {
    const { fakeHost } = await import('./fake-host.ts')
    return fakeHost({ reports: [{ message: 'waiting' }] }).host
  },
})
await session.closed
