import { operations } from '#contract/operations/operations.ts'
import * as audio from '../capabilities/audio/routes.ts'
import * as billing from '../capabilities/billing/routes.ts'
import * as characters from '../capabilities/characters/routes.ts'
import * as images from '../capabilities/images/routes.ts'
import * as keys from '../capabilities/keys/routes.ts'
import * as models from '../capabilities/models/routes.ts'
import * as text from '../capabilities/routes.ts'
import * as rpc from '../capabilities/rpc/routes.ts'
import * as video from '../capabilities/video/routes.ts'
import * as web from '../capabilities/web/routes.ts'
import type { Route } from '../http/route.ts'

const capabilities = [audio, billing, characters, images, keys, models, rpc, text, video, web].flatMap(
  each => Object.values(each) as unknown as Route[],
)

/** The route of each operation of the contract, in its order; a test compares the two lists. */
export const routes: readonly Route[] = operations.flatMap(operation =>
  capabilities.filter(route => route.operation === operation),
)
