/** Where a thread that recovers EVM signers starts. Answers in the order of the questions. */
import { type MessagePort, parentPort } from 'node:worker_threads'
import { type RecoverAnswer, type RecoverRequest, recoverSigner } from './evm-verifier.ts'

if (parentPort) serve(parentPort)

function serve(port: MessagePort): void {
  port.on('message', async ({ message, signature }: RecoverRequest) => {
    port.postMessage({ signer: await recoverSigner(message, signature) } satisfies RecoverAnswer)
  })
}
