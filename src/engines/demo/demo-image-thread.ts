/** The thread on which the demonstrations draw and edit images. */

import { encodePng } from '../images/png.ts'
import { answerImageTasks, convertImage, rasterOf, resample } from '../images/raster.ts'
import { drawImage } from './draw-image.ts'
import { clearBackground, editRaster } from './image-edits.ts'
import type { DemoImageTask } from './images.ts'

answerImageTasks(async (task: DemoImageTask): Promise<Buffer> => {
  switch (task.kind) {
    case 'draw':
      return encodePng(drawImage(task.drawing))
    case 'edit': {
      const rasters = []
      for (const image of task.images) rasters.push(await rasterOf(image))
      return convertImage(await encodePng(editRaster(rasters, task.edit)), task.edit.format)
    }
    case 'upscale': {
      const raster = await rasterOf(task.image)
      const size = (side: number) => Math.max(1, Math.round(side * task.scale))
      return encodePng(resample(raster, size(raster.width), size(raster.height)))
    }
    case 'background':
      return encodePng(clearBackground(await rasterOf(task.image)))
  }
})
