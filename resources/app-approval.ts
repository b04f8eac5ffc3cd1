import { defineApp } from '#toolkit/apps/app-page.ts'

export default defineApp('approval', {
  title: 'Price and approval',
  description: 'Shows the price of a call, what the user has to approve and where, or the result of a top-up.',
  script: `
const approvals = {
  not_needed: 'No approval is needed.',
  needed: 'It needs your approval, which is asked for when the call is made.',
  refused: 'The wallet refuses it.',
}

function view(data) {
  if (data.approval)
    return draw(
      element('h1', 'Price of ' + data.tool),
      rows([['What', data.what], ['At most', usd(data.at_most_usd)]]),
      paragraph(approvals[data.approval] ?? ''),
      data.because ? paragraph(data.because, 'small') : null,
    )
  draw(
    element('h1', 'Credit was bought'),
    rows([['Amount', known(data.amount_usd)], ['State', data.state], ['Paid to', data.pay_to], ['Network', data.network], ['Transaction', data.transaction], ['Receipt', data.id]]),
    paidOf(data),
  )
}`,
})
