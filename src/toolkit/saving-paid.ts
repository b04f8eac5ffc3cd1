import type { Paid, ToolContext } from './tool-context.ts'
import { ToolFailure } from './tool-failure.ts'

/**
 * Saves what a call has paid for and is of no use but as a file. Where it cannot be saved the call counts as undelivered, so
 * the same one finds its result kept; the failure says so, and what was charged.
 */
export async function savingPaid<Result>(
  { signal }: Pick<ToolContext, 'signal'>,
  paid: Paid,
  save: () => Promise<Result>,
): Promise<Result> {
  try {
    return await save()
  } catch (error) {
    if (signal.aborted) throw error
    throw new ToolFailure({
      happened: 'The service made it, and it could not be written to the output folder.',
      charged: paid.chargedMicroUsd ?? 'unknown',
      creditLeftMicroUsd: paid.creditLeftMicroUsd,
      budgetLeftMicroUsd: paid.budgetLeftMicroUsd,
      next: 'Let the person see that the output folder (FAREBOX_OUTPUT_DIR) is there, may be written to and has room, then make the same call again within 10 minutes: its result is kept and costs nothing more.',
    })
  }
}
