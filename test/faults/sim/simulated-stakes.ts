import type { StakeReader } from '#ledger/accounts/stake-reader.ts'
import type { Seeded } from '../seeded.ts'
import { answered, type Machine } from './virtual-machine.ts'

/** What wallets have staked, read from one machine. The chain may not tell. */
export class SimulatedStakes implements StakeReader {
  readonly #machine: Machine
  readonly #stakes: ReadonlyMap<string, bigint>
  readonly #draws: Seeded
  readonly #weather: { troubleOnceIn: number; isChainDown: boolean }

  constructor(
    machine: Machine,
    stakes: ReadonlyMap<string, bigint>,
    draws: Seeded,
    weather: { troubleOnceIn: number; isChainDown: boolean },
  ) {
    this.#machine = machine
    this.#stakes = stakes
    this.#draws = draws
    this.#weather = weather
  }

  stakeOf(wallets: readonly string[]): Promise<bigint> {
    const { troubleOnceIn, isChainDown } = this.#weather
    const isLost = isChainDown || (troubleOnceIn > 0 && this.#draws.once(troubleOnceIn))
    const stake = wallets.reduce((sum, wallet) => sum + (this.#stakes.get(wallet) ?? 0n), 0n)
    return answered(
      this.#machine,
      new Promise((resolve, reject) => {
        this.#machine.after(this.#draws.below(30), () =>
          isLost ? reject(new Error('Simulated: the stake cannot be read.')) : resolve(stake),
        )
      }),
    )
  }
}
