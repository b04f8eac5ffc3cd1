/** A writer's thread that ends at the first request, as after a crash. */
import { parentPort } from 'node:worker_threads'

parentPort?.on('message', () => process.exit(1))
parentPort?.postMessage({ answer: 'ready' })
