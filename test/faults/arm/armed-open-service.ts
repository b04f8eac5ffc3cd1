import { openService as open } from '#service/running/open-service.ts'
import { placeStakes, stakes } from '../stakes.ts'

export * from '#service/running/open-service.ts'

/** A service that gives staking credit, which `farebox up` has no setting for. */
export const openService: typeof open = async options => {
  const { payments } = options
  if (!payments) return open(options)
  await placeStakes(payments.rpcUrl)
  return open({ ...options, staking: { rpcUrl: payments.rpcUrl, ...stakes } })
}
