import { x402Facilitator } from '@x402/core/facilitator'
import * as evm from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import * as viem from 'viem'
import * as accounts from 'viem/accounts'
import { evmNetwork, x402Version } from '#contract/wire/networks.ts'
import { type ContractCall, EvmSender, newAttempt } from '#payments/evm/evm-sender.ts'
import type { Settler, WireQuestion, WireSettlement } from './settler.ts'

const gasAtMost = 200_000n

/** The stock facilitator on this node, its sends one at a time. */
export function evmSettler(rpcUrl: string, key: `0x${string}`): Settler {
  const sender = new EvmSender(viem, accounts, { network: evmNetwork, rpcUrl, key, feesPerHourWei: 10n ** 20n })
  const { client, address } = sender
  const signer = evm.toFacilitatorEvmSigner({
    address,
    readContract: call => client.readContract(call as Parameters<typeof client.readContract>[0]),
    verifyTypedData: call => client.verifyTypedData(call as Parameters<typeof client.verifyTypedData>[0]),
    waitForTransactionReceipt: call => client.waitForTransactionReceipt(call),
    getCode: call => client.getCode(call),
    writeContract: call => sender.send(call as ContractCall, gasAtMost, newAttempt()),
    sendTransaction: () => Promise.reject(new Error('Nothing else is sent.')),
  })
  const facilitator = new x402Facilitator().register(evmNetwork, new ExactEvmScheme(signer))
  type Asked = Parameters<typeof facilitator.verify>
  const asked = ({ paymentPayload, paymentRequirements }: WireQuestion) =>
    [paymentPayload, paymentRequirements] as unknown as Asked
  return {
    kinds: () => [{ x402Version, scheme: 'exact', network: evmNetwork }],
    verify: question => facilitator.verify(...asked(question)),
    settle: question => facilitator.settle(...asked(question)) as Promise<WireSettlement>,
  }
}
