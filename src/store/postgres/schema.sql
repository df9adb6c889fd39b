-- Everything that rosterd keeps in a database. Made, and brought to a later version, in one transaction.
create schema if not exists rosterd;

create table rosterd.meta (
  version int not null,
  -- For digests that are compared, and that must not be told from those of another database.
  salt text not null default gen_random_uuid()::text
);

-- A customer account: lease, fence and commit counter in one row.
create table rosterd.account (
  id int generated always as identity primary key,
  name text not null unique,
  holder text,
  node text,
  since timestamptz not null default 'epoch',
  -- Digests of the configuration and of the credentials under which it is run.
  config text,
  credentials text[],
  -- The form in which the holder takes requests; null where it takes none.
  serves int,
  epoch bigint not null default 0,
  expires_at timestamptz not null default 'epoch',
  commits bigint not null default 0,
  timeline int not null default 0,
  -- Before, no one writes to the service: a tenure that did not end in good order may still have a write on its way.
  quiet_until timestamptz not null default 'epoch',
  budget bytea,
  budget_at timestamptz
);

-- A process that runs accounts, and which it could run.
create table rosterd.worker (
  id text primary key,
  node text not null,
  began_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp(),
  offers text[] not null
);

create table rosterd.rows (
  account int not null references rosterd.account on delete cascade,
  space smallint not null,
  generation int not null,
  name bytea not null,
  payload bytea,
  primary key (account, space, generation, name)
);

-- Which generation of a space counts; 0 where there is no row.
create table rosterd.space (
  account int not null references rosterd.account on delete cascade,
  space smallint not null,
  generation int not null,
  primary key (account, space)
);

create table rosterd.audit (
  account int not null references rosterd.account on delete cascade,
  n bigint generated always as identity,
  segment text not null,
  line text not null,
  -- Of a line that was written by itself: where it is written again because an answer was lost, it is there already.
  mark text unique,
  primary key (account, segment, n)
);

create table rosterd.document (
  account int not null references rosterd.account on delete cascade,
  name text not null,
  bytes bytea not null,
  primary key (account, name)
);

-- Contents of files, in parts. Those that no file names are of writes that did not come to their end.
create table rosterd.blob (
  account int not null references rosterd.account on delete cascade,
  id text not null,
  part int not null,
  bytes bytea not null,
  primary key (account, id, part)
);

create table rosterd.file (
  account int not null references rosterd.account on delete cascade,
  name text not null,
  blob text not null,
  size bigint not null,
  primary key (account, name)
);

-- What is asked of the worker that has an account; the numbers are the callers' own. Gone once it is answered.
create table rosterd.request (
  id bigint primary key,
  account int not null references rosterd.account on delete cascade,
  kind smallint not null,
  call bytea not null,
  caller text not null,
  asked_at timestamptz not null default clock_timestamp(),
  -- The caller's last sign of life, and whether it was asked to end.
  alive_at timestamptz not null default clock_timestamp(),
  stops boolean not null default false,
  -- Who took it.
  holder text,
  epoch bigint
);

create table rosterd.answer (
  request bigint not null references rosterd.request on delete cascade,
  n int not null,
  kind smallint not null,
  bytes bytea not null,
  primary key (request, n)
);

insert into rosterd.meta (version) values (1);
