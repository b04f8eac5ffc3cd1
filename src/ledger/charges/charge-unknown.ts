import { StoreError } from '../store/store-error.ts'

/** The work was done, and the books were gone before they answered for its charge: it may stand or not, and a later look will tell. */
export class ChargeUnknown extends StoreError {
  constructor(cause: unknown) {
    super('outcome_unknown', 'The books did not say whether this call was charged; they are asked again later.', {
      cause,
    })
    this.name = 'ChargeUnknown'
  }
}
