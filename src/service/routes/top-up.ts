import { paymentResponse } from '#contract/headers.ts'
import { topUp } from '#contract/top-up.ts'
import { json } from '../call.ts'
import { route } from '../route.ts'

/** Without a payment the requirements, with one its credit; a resend gets the same bytes, as printing is stable. */
export const topUpRoute = route(topUp, async (call, service) => {
  const { body, settlement } = await service.payments.topUp({
    header: name => call.header(name),
    address: call.address,
    count: countedFor => call.count(countedFor),
  })
  call.set(paymentResponse, settlement)
  return json(JSON.parse(body))
})
