import type { Told } from '../work-order.ts'

/** Tells the harness what this process has done; a kill may come before it hears of it. */
export function tell(told: Told): void {
  process.send?.(told)
}

/** Tells the harness and waits for its answer, so that it knows before another process sees the effect. */
export async function tellAndWait(told: Told): Promise<void> {
  const answered = new Promise<void>(resolve => {
    const listen = (message: unknown) => {
      if (message !== 'heard') return
      process.off('message', listen)
      resolve()
    }
    process.on('message', listen)
  })
  tell(told)
  await answered
}
