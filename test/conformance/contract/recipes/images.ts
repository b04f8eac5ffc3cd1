import { encodePng } from '#engines/images/png.ts'
import type { Recipes } from '../recipe.ts'

const imageFile = { model: 'demo-image', prompt: 'a red boat', width: 64, height: 64 }

export const imageRecipes: Recipes = {
  generateImage: {
    succeeds: [
      { body: imageFile },
      { body: { ...imageFile, return_binary: true, format: 'png' } },
      { body: imageFile, as: 'wallet' },
    ],
  },
  simpleGenerateImage: {
    succeeds: [
      { body: { model: 'demo-image', prompt: 'a red boat', size: '256x256' } },
      { body: { model: 'demo-image', prompt: 'a red boat', size: '256x256', response_format: 'url' } },
    ],
  },
}

const side = 64
const png = await encodePng({ width: side, height: side, rgb: Buffer.alloc(side * side * 3, 0x80) })
const image = png.toString('base64')

function form(fields: Readonly<Record<string, string>>, files: readonly string[]): FormData {
  const body = new FormData()
  for (const [name, value] of Object.entries(fields)) body.append(name, value)
  for (const name of files) body.append(name, new File([new Uint8Array(Buffer.from(image, 'base64'))], 'a.png'))
  return body
}

export const imageEditRecipes: Recipes = {
  editImage: {
    succeeds: [
      { body: { model: 'demo-edit', prompt: 'brighter', image } },
      () => ({ body: form({ prompt: 'brighter' }, ['image']) }),
    ],
  },
  multiEditImage: {
    succeeds: [
      { body: { modelId: 'demo-edit', prompt: 'brighter', images: [image, image] } },
      () => ({ body: form({ prompt: 'brighter' }, ['images', 'images']), as: 'wallet' }),
    ],
    failsBy: 'books',
  },
  upscaleImage: { succeeds: [{ body: { image, scale: 2 } }], failsBy: 'books' },
  backgroundRemoveImage: { succeeds: [{ body: { image } }], failsBy: 'books' },
}
