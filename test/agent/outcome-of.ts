import { expect } from 'vitest'
import { ApprovalRequired } from '#toolkit/approval.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'

const thrownBy = (run: Promise<unknown>): Promise<unknown> =>
  run.then(
    () => null,
    (thrown: unknown) => thrown,
  )

/** Returns the failure of a call that must fail. */
export async function failureOf(run: Promise<unknown>): Promise<ToolFailure['facts']> {
  const error = await thrownBy(run)
  expect(error).toBeInstanceOf(ToolFailure)
  return (error as ToolFailure).facts
}

/** The request of a call that needs approval. */
export async function questionOf(run: Promise<unknown>): Promise<ApprovalRequired['request']> {
  const error = await thrownBy(run)
  expect(error).toBeInstanceOf(ApprovalRequired)
  return (error as ApprovalRequired).request
}
