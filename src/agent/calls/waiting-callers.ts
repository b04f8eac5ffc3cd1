import type { WaitingCaller } from './waiting-caller.ts'

/** Who waits for the calls of this process, by their rows; nobody for what goes on by itself. */
export class WaitingCallers {
  readonly #callers = new Map<string, WaitingCaller[]>()

  begin(rowId: string, caller: WaitingCaller | undefined): void {
    if (caller) this.#callers.set(rowId, [caller])
  }

  /** Who joins without a way to cancel wants it to the end. */
  join(rowId: string, caller: WaitingCaller | undefined): void {
    if (caller) this.#callers.get(rowId)?.push(caller)
    else this.#callers.delete(rowId)
  }

  isWanted(rowId: string): boolean {
    return this.#callers.get(rowId)?.some(caller => caller.wants) ?? true
  }

  forget(rowId: string): void {
    this.#callers.delete(rowId)
  }
}
