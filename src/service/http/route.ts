import type { Operation } from '#contract/operations/operation.ts'
import type { Call, Reply } from './call.ts'
import type { Service } from './service.ts'

/** What answers one operation. Throws `ServiceError`s and lets them pass; knows no status code and no framework. */
export interface Route<O extends Operation = Operation> {
  operation: O
  answer(call: Call<O>, service: Service): Promise<Reply>
}

export const route = <O extends Operation>(operation: O, answer: Route<O>['answer']): Route<O> => ({
  operation,
  answer,
})
