import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  All,
  Controller,
  Injectable,
  Module,
  Req,
  Res,
  UnauthorizedException,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { TypeOrmModule } from '@nestjs/typeorm'
import { typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { lockPage, nodeHandler } from 'shedlock-orm/web'
import { DataSource } from 'typeorm'
import { dataSource } from '../data-source'

type AppRequest = IncomingMessage & { user?: string }

/** Stands for the sign-in of your app. */
@Injectable()
class AdminGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<AppRequest>()
    if (request.headers.authorization !== `Bearer ${process.env['TOKEN'] ?? ''}`)
      throw new UnauthorizedException()
    request.user = 'ann'
    return true
  }
}

@Controller('admin/locks')
@UseGuards(AdminGuard)
class LocksController {
  readonly #answer: (request: AppRequest, response: ServerResponse) => Promise<void>

  constructor(dataSource: DataSource) {
    const page = lockPage<AppRequest>(typeOrmLockProvider(dataSource), {
      authorize: (_request, { user }) => user !== undefined && { user },
      readOnly: false,
      overdueAfter: { report: '1h' },
    })
    this.#answer = nodeHandler(page)
  }

  @All()
  answer(@Req() request: AppRequest, @Res() response: ServerResponse): Promise<void> {
    return this.#answer(request, response)
  }
}

@Module({ imports: [TypeOrmModule.forRoot(dataSource.options)], controllers: [LocksController] })
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule)
  app.enableShutdownHooks()
  await app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
  console.log(`ready ${new URL(await app.getUrl()).port}`)
}

void main()
