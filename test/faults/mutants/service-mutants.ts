import type { Mutant } from './mutant.ts'

export const serviceMutants: readonly Mutant[] = [
  {
    name: 'refund on a poll that timed out',
    patches: [
      {
        file: 'src/service/jobs/job-runner.ts',
        find: `      return { state: 'running', engineState: job.engineState }`,
        replace: `      return { state: 'failed', reason: 'The engine did not answer.' }`,
      },
    ],
    check: { tests: 'test/service/video.test.ts', title: 'an engine that throws has given no verdict' },
  },
  {
    name: 'charge on 409',
    patches: [
      {
        file: 'src/service/capabilities/video/routes.ts',
        find: '  const marks = await service.consent.require(shown)\n',
        replace: '  const marks = [] as never[]\n',
      },
      {
        file: 'src/service/capabilities/video/routes.ts',
        find: '  tellRemaining(call,',
        replace: '  await service.consent.require(shown)\n  tellRemaining(call,',
      },
    ],
    check: { tests: 'test/service/video.test.ts', title: 'needs consent' },
  },
  {
    name: 'charge a stream twice that is asked for again',
    patches: [
      {
        file: 'src/service/http/idempotency/once-per-key.ts',
        find: '    this.requestId = claim.request\n',
        replace: '    this.requestId = keyed.exchange.requestId\n',
      },
    ],
    check: { tests: 'test/service/http/idempotency/crashes.test.ts', title: 'was charged for in part' },
  },
  {
    name: 'chunks that are sent at once are not counted',
    patches: [
      {
        file: 'src/service/capabilities/chat/stream-chat.ts',
        find: '  if (!credit.coversAtOnce(chunk)) return false\n  streamUsage.read(chunk)\n',
        replace: '  if (!credit.coversAtOnce(chunk)) return false\n',
      },
    ],
    check: { tests: 'test/service/streams-on-a-socket.test.ts', title: 'an engine that breaks off' },
  },
  {
    name: 'chunks are sent at once although no credit covers them',
    patches: [
      {
        file: 'src/service/capabilities/chat/stream-chat.ts',
        find: '  if (!credit.coversAtOnce(chunk)) return false\n  streamUsage.read(chunk)\n',
        replace: '  streamUsage.read(chunk)\n',
      },
    ],
    check: { tests: 'test/service/streams-on-a-socket.test.ts', title: 'an engine that exceeds its limit' },
  },
  {
    name: 'chunks that are sent at once do not end a silence',
    patches: [
      {
        file: 'src/engines/upstreams/upstream-pool.ts',
        find: '      heard()\n      return takeDirectly(chunk)\n',
        replace: '      return takeDirectly(chunk)\n',
      },
    ],
    check: { tests: 'test/service/streams-on-a-socket.test.ts', title: 'end a silence' },
  },
  {
    name: 'float in pricing',
    patches: [
      {
        file: 'src/contract/money.ts',
        find: '    const total = (pico + picoPerMicro - 1n) / picoPerMicro\n',
        replace: '    const total = BigInt(Math.ceil(Number(pico) / 1_000_000))\n',
      },
    ],
    check: { tests: 'test/contract/exact-money.test.ts' },
  },
  {
    name: "the wallet's lock per process only",
    patches: [
      {
        file: 'src/wallet/records/state.ts',
        find: `  database.exec('BEGIN IMMEDIATE')\n  try {`,
        // One thread, and nothing awaited: within a process this still lets no two decide at once.
        replace: '  try {',
      },
      { file: 'src/wallet/records/state.ts', find: `    database.exec('COMMIT')\n`, replace: '' },
    ],
    check: { tests: 'test/wallet/lock.test.ts' },
  },
]
