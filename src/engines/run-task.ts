import { threadPixels } from './bounds.ts'
import { clearBackground } from './demo/clear-background.ts'
import { drawPicture } from './demo/draw-picture.ts'
import { editRaster } from './demo/edit-raster.ts'
import type { PictureTask } from './picture-task.ts'
import { encodePng } from './pictures/encode-png.ts'
import { convertPicture, pngOf, rasterOf } from './pictures/raster-of.ts'
import { resample } from './pictures/resample.ts'

/** Does a task, on the thread that calls it. Throws `UnreadablePicture`, or what else went wrong. */
export async function runTask(task: PictureTask): Promise<Buffer> {
  switch (task.kind) {
    case 'demo-draw':
      return encodePng(drawPicture(task.drawing))
    case 'demo-edit': {
      const rasters = []
      for (const picture of task.pictures) rasters.push(await read(picture))
      return convertPicture(await pngOf(editRaster(rasters, task.edit)), task.edit.format, threadPixels)
    }
    case 'demo-upscale': {
      const raster = await read(task.picture)
      const size = (side: number) => Math.max(1, Math.round(side * task.scale))
      return pngOf(resample(raster, size(raster.width), size(raster.height)))
    }
    case 'demo-background':
      return pngOf(clearBackground(await read(task.picture)))
    case 'convert':
      return convertPicture(Buffer.from(task.picture), task.format, threadPixels)
    case 'esrgan': {
      const { upscaleByEsrgan } = await import('./esrgan/upscale-raster.ts')
      return pngOf(await upscaleByEsrgan(await read(task.picture), task.scale))
    }
  }
}

const read = (picture: Uint8Array) => rasterOf(Buffer.from(picture), threadPixels)
