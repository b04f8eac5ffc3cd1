import type { ImageFormat } from '#contract/operations/images.ts'
import type { Drawing } from './demo/draw-picture.ts'
import type { EditRequest } from './engine.ts'

/** What a picture thread is asked to do. Pictures are files, in and out. */
export type PictureTask =
  | { kind: 'demo-draw'; drawing: Drawing }
  | { kind: 'demo-edit'; pictures: readonly Uint8Array[]; edit: Omit<EditRequest, 'pictures'> }
  | { kind: 'demo-upscale'; picture: Uint8Array; scale: number }
  | { kind: 'demo-background'; picture: Uint8Array }
  | { kind: 'esrgan'; picture: Uint8Array; scale: number }
  | { kind: 'convert'; picture: Uint8Array; format: ImageFormat }

export type PictureAnswer = { ok: true; bytes: Uint8Array } | { ok: false; isUnreadable: boolean; message: string }
