import { authenticationFailed } from '#contract/errors/errors.ts'
import { isSameSecret } from '#host/same-secret.ts'
import { sendText } from '../body/send.ts'
import type { Exchange } from '../exchange.ts'
import type { ServiceMetrics } from './service-metrics.ts'

export interface Figures {
  metrics: Pick<ServiceMetrics, 'text' | 'contentType'>
  token: string
}

/** The figures, for whoever has their token: behind a proxy every caller seems to come from this machine. */
export async function answerFigures(exchange: Exchange, { metrics, token }: Figures): Promise<Response> {
  if (!isSameSecret(exchange.header('authorization')[0] ?? '', `Bearer ${token}`)) throw authenticationFailed()
  exchange.isExempt = true
  return sendText(exchange, await metrics.text(), metrics.contentType)
}
