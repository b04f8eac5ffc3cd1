import { EventEmitter } from 'node:events'
import type { Machine } from './virtual-machine.ts'

/** Milliseconds that a signature's recovery takes on its thread, at most. */
const longestRecoveryMs = 5

/** Stands for the thread that recovers signers; whoever signed is asked, which costs no curve arithmetic. */
export class SimulatedThread extends EventEmitter {
  readonly #machine: Machine

  constructor(machine: Machine) {
    super()
    this.#machine = machine
  }

  postMessage({ message, signature }: { message: string; signature: string }): void {
    const machine = this.#machine
    machine.after(machine.chance.below(longestRecoveryMs), () => {
      if (machine.isAlive) this.emit('message', { signer: machine.signerOf(message, signature) })
    })
  }

  ref(): void {}
  unref(): void {}

  async terminate(): Promise<number> {
    return 0
  }
}
