import { expect, test } from 'vitest'
import * as errors from '#contract/errors/errors.ts'

test.each([
  ['adminKeyRequired', errors.adminKeyRequired, 'Admin API key required'],
  ['authenticationFailed', errors.authenticationFailed, 'Authentication failed'],
  ['forbidden', errors.forbidden, 'Unauthorized access'],
  ['inferenceFailed', errors.inferenceFailed, 'Inference processing failed'],
  [
    'insufficientBalance',
    errors.insufficientBalance,
    'Insufficient USD or Diem balance to complete request. Add credits to continue.',
  ],
  ['invalidContentType', errors.invalidContentType, 'Invalid request content-type'],
  ['mediaNotFound', errors.mediaNotFound, 'Media could not be found. Request may be invalid, expired, or deleted.'],
  ['modelAtCapacity', errors.modelAtCapacity, 'The model is at capacity. Please try again later.'],
  ['modelNotFound', errors.modelNotFound, 'Specified model not found'],
  ['modelOffline', errors.modelOffline, 'The model is temporarily offline. Please try again later.'],
  ['modelOverloaded', errors.modelOverloaded, 'The model is currently overloaded. Please try again later.'],
  ['rateLimitExceeded', errors.rateLimitExceeded, 'Rate limit exceeded'],
  ['requestIdNotFound', errors.requestIdNotFound, 'Request ID is invalid.'],
  [
    'requestTimeout',
    errors.requestTimeout,
    'The request took too long to complete and was timed-out. For long-running inference requests, use the streaming API by setting `stream=true` in your request.',
  ],
  [
    'tooManyFailures',
    errors.tooManyFailures,
    'Too many failed attempts (> 20) resulting in a non-success status code. Please wait 30s and try again.',
  ],
  ['unknownError', errors.unknownError, 'An unknown error occurred'],
  ['walletMismatch', errors.walletMismatch, 'You can only access resources for your own wallet'],
])('the words of %s stay, since clients match on them', (_name, make, words) => {
  expect(make().body).toEqual({ error: words })
})
