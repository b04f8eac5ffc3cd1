/**
 * Measures a whole top-up over HTTP: a signed payment is verified, settled on the local chain and credited before it is
 * answered.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { paymentSignature } from '#contract/wire/headers.ts'
import { fundFromFaucet } from '#local/faucet.ts'
import { signTopUp } from '../test/faults/loads/sign-payment.ts'
import { leastMicroUsd, offeredOptions } from '../test/faults/loads/top-up.ts'
import { freePort } from '../test/postgres/cluster.ts'
import { type Figure, finish, type Line, median } from './kit/figures.ts'
import { Caller, post } from './kit/load.ts'
import { pinLoad } from './kit/machine.ts'
import { benchOptions } from './kit/options.ts'
import { type Installation, readyPath, withProduct } from './kit/product.ts'
import { ServerProcess } from './kit/server-process.ts'

const options = benchOptions()
const { rounds, warmUpRounds } = options.isShort ? { rounds: 2, warmUpRounds: 0 } : { rounds: 25, warmUpRounds: 5 }

/** Payments per minute, below the limit of top-ups, which is not what is measured. */
const inMinute = 5
const minuteMs = 60_000

const load = 'one payment at a time'
const metric = 'time to credit, ms'
const anew = 'a new payment'
const again = 'the same payment again'

pinLoad()
await withProduct(options.product, installation => finish('top-up', options, () => measure(installation)))

async function measure({ launcher, folder }: Installation): Promise<{ figures: Figure[]; goals: Line[] }> {
  const port = await freePort()
  const data = join(folder, 'up')
  await mkdir(data)
  const args = [launcher, 'up', '--no-journey', '--no-local-models', '--json', '--port', `${port}`, '--data', data]
  const server = await ServerProcess.start({ name: 'farebox up', port, readyPath, args })
  const caller = await Caller.open(port)
  try {
    const { option } = await offeredOptions(`http://127.0.0.1:${port}/api/v1`)
    const times: { anew: number[]; again: number[] } = { anew: [], again: [] }
    for (let round = 0; round < warmUpRounds + rounds; round++) {
      if (round > 0 && round % inMinute === 0) await sleep(minuteMs - (Date.now() % minuteMs))
      const wallet = privateKeyToAccount(generatePrivateKey())
      await fundFromFaucet({ dataDir: data, address: wallet.address, amountMicroUsd: leastMicroUsd })
      const { header } = await signTopUp(wallet, option, leastMicroUsd)
      const request = post('/api/v1/x402/top-up', { [paymentSignature.name]: header }, {})
      const [first, second] = [await timed(caller, request), await timed(caller, request)]
      if (round < warmUpRounds) continue
      times.anew.push(first)
      times.again.push(second)
    }
    const figures: Figure[] = [
      { load, metric, side: anew, rounds: times.anew, digits: 1 },
      { load, metric, side: again, rounds: times.again, digits: 1 },
    ]
    const goal = { what: 'a whole EVM top-up', value: median(times.anew), atMost: 40, digits: 1, unit: ' ms' }
    return { figures, goals: [goal] }
  } finally {
    caller.close()
    await server.stop()
  }
}

async function timed(caller: Caller, request: Buffer): Promise<number> {
  const startedAt = performance.now()
  await caller.request(request)
  return performance.now() - startedAt
}
