-- SPDX-License-Identifier: Apache-2.0
-- The state file of the version with schema 9, made through its API on a simulated node and
-- dumped; what that node refuses (sm, spill_bytes), accounts and ends were entered by hand.
BEGIN TRANSACTION;
CREATE TABLE audit(id INTEGER PRIMARY KEY AUTOINCREMENT,time_ns INTEGER,subject TEXT,uid INTEGER,token TEXT,origin TEXT,action TEXT,object TEXT,detail TEXT,result TEXT);
INSERT INTO "audit" VALUES(1,1769860800035005914,'{USER}','{UID}','','unix','layout.apply','o23c217cc035c1645','apply layout.yaml','ok');
INSERT INTO "audit" VALUES(2,1769860800138411333,'{USER}','{UID}','','unix','partition.create','od6dbd3c3e13f2505','create 1g.5gb on gpu0','ok');
INSERT INTO "audit" VALUES(3,1769860800216120745,'{USER}','{UID}','','unix','lease.create','l170e860709a24ea3','train on gpu1: share 0.3, cap 0.5, memory 8 GiB, class batch','ok');
INSERT INTO "audit" VALUES(4,1769860800217723867,'{USER}','{UID}','','unix','lease.create','l687ca5fa5194ca47','range on gpu1: share 0.1..0.6, cap none, memory 3.92 GiB, class normal','ok');
INSERT INTO "audit" VALUES(5,1769860800218535773,'{USER}','{UID}','','unix','lease.create','l8d32dea472081864','later on gpu1: share 0.9, cap none, memory 35.32 GiB, class normal','ok');
INSERT INTO "audit" VALUES(6,1769860800219615426,'{USER}','{UID}','','unix','lease.create','lddce90e88cc5da9d','inside on gpu1: share 0.25, cap none, memory 4 GiB, class latency','ok');
INSERT INTO "audit" VALUES(7,1769860800230416098,'{USER}','{UID}','','unix','lease.create','l4d9d298c5a31eb25','whole on gpu3: share 1.0, cap none, memory 39.25 GiB, class normal','ok');
INSERT INTO "audit" VALUES(8,1769860800244066303,'{USER}','{UID}','','unix','lease.create','lfdfe251f89d26382','part on gpu0/1g.5gb@4: share 0.5, cap none, memory 2.38 GiB, class normal','ok');
INSERT INTO "audit" VALUES(9,1769860800249970953,'{USER}','{UID}','','unix','lease.resize','l170e860709a24ea3','train on gpu1: share 0.25, cap 0.5, memory 8 GiB, class batch','ok');
INSERT INTO "audit" VALUES(10,1769860800259842736,'{USER}','{UID}','','unix','device.cordon','gpu5','fan','ok');
INSERT INTO "audit" VALUES(11,1769860800267694599,'{USER}','{UID}','','unix','token.create','5dd2a563fd92','look, viewer','ok');
INSERT INTO "audit" VALUES(12,1769860800283185928,'{USER}','{UID}','','unix','token.create','dc20bd89696b','hers, tenant of root','ok');
INSERT INTO "audit" VALUES(13,1769860800284181757,'{USER}','{UID}','','unix','lease.join','lfdfe251f89d26382','process 1 joined part','ok');
CREATE TABLE cordons(uuid TEXT PRIMARY KEY,reason TEXT);
INSERT INTO "cordons" VALUES('GPU-3f0833b8-9388-51c5-ac5f-081236156476','fan');
CREATE TABLE debts(device_uuid TEXT,tenant TEXT,weight_ppm INTEGER,class TEXT,debt_ns INTEGER);
INSERT INTO "debts" VALUES('GPU-b11febdf-6ba3-5de3-a46f-55a4c437dd17','{USER}',300000,'normal',1500000000);
CREATE TABLE devices(uuid TEXT PRIMARY KEY,json TEXT);
INSERT INTO "devices" VALUES('GPU-b11febdf-6ba3-5de3-a46f-55a4c437dd17','{"name":"gpu1","uuid":"GPU-b11febdf-6ba3-5de3-a46f-55a4c437dd17","model":"NVIDIA A100-SXM4-40GB","vendor":"NVIDIA","driver":"simulated","type":"gpu","platform":"","locator_model":"","parent":"","scheme":"","profile":"","address":"","visible":"","pci_address":"0000:0f:00.0","memory_bytes":42144366592,"max_allocation_bytes":0,"compute_units":108,"ordinal":0,"backend":"sim"}');
INSERT INTO "devices" VALUES('GPU-c8851aa5-258b-5b4a-b17a-273a6cb2a9e0','{"name":"gpu3","uuid":"GPU-c8851aa5-258b-5b4a-b17a-273a6cb2a9e0","model":"NVIDIA A100-SXM4-40GB","vendor":"NVIDIA","driver":"simulated","type":"gpu","platform":"","locator_model":"","parent":"","scheme":"","profile":"","address":"","visible":"","pci_address":"0000:4e:00.0","memory_bytes":42144366592,"max_allocation_bytes":0,"compute_units":108,"ordinal":0,"backend":"sim"}');
INSERT INTO "devices" VALUES('GPU-db3f4fb3-0049-54c5-8fa8-dd59ead5f768','{"name":"gpu4","uuid":"GPU-db3f4fb3-0049-54c5-8fa8-dd59ead5f768","model":"NVIDIA A100-SXM4-40GB","vendor":"NVIDIA","driver":"simulated","type":"gpu","platform":"","locator_model":"","parent":"","scheme":"","profile":"","address":"","visible":"","pci_address":"0000:87:00.0","memory_bytes":42144366592,"max_allocation_bytes":0,"compute_units":108,"ordinal":0,"backend":"sim"}');
INSERT INTO "devices" VALUES('MIG-807ab685-5f94-58ea-81a9-8d284da3a650','{"name":"gpu0/1g.5gb@4","uuid":"MIG-807ab685-5f94-58ea-81a9-8d284da3a650","model":"NVIDIA A100-SXM4-40GB","vendor":"NVIDIA","driver":"simulated","type":"gpu","platform":"","locator_model":"","parent":"GPU-3773e735-4ebb-5c6c-a7ba-9e5442e9d3d0","scheme":"mig","profile":"1g.5gb","address":"","visible":"","pci_address":"0000:07:00.0","memory_bytes":5100273664,"max_allocation_bytes":0,"compute_units":14,"ordinal":0,"backend":"sim"}');
CREATE TABLE events(id INTEGER PRIMARY KEY,time_ns INTEGER,type TEXT,lease TEXT,name TEXT,device TEXT,uid INTEGER,message TEXT);
INSERT INTO "events" VALUES(1,1769860800000000000,'agent_started','','','',-1,'cleaved 0.1.0, process 17272');
INSERT INTO "events" VALUES(2,1769860800134937183,'apply_done','','','',-1,'apply layout.yaml');
INSERT INTO "events" VALUES(3,1769860800209254757,'apply_done','','','',-1,'create 1g.5gb on gpu0');
INSERT INTO "events" VALUES(4,1769860800216056490,'lease_created','l170e860709a24ea3','train','gpu1','{UID}','share 0.3, cap 0.5, memory 8 GiB, class batch');
INSERT INTO "events" VALUES(5,1769860800217682766,'lease_created','l687ca5fa5194ca47','range','gpu1','{UID}','share 0.1..0.6, cap none, memory 3.92 GiB, class normal');
INSERT INTO "events" VALUES(6,1769860800218504186,'lease_queued','l8d32dea472081864','later','gpu1','{UID}','share 0.9, cap none, memory 35.32 GiB, class normal');
INSERT INTO "events" VALUES(7,1769860800219533795,'lease_created','lddce90e88cc5da9d','inside','gpu1','{UID}','share 0.25, cap none, memory 4 GiB, class latency');
INSERT INTO "events" VALUES(8,1769860800230345253,'lease_created','l4d9d298c5a31eb25','whole','gpu3','{UID}','share 1.0, cap none, memory 39.25 GiB, class normal');
INSERT INTO "events" VALUES(9,1769860800243998553,'lease_created','lfdfe251f89d26382','part','gpu0/1g.5gb@4','{UID}','share 0.5, cap none, memory 2.38 GiB, class normal');
INSERT INTO "events" VALUES(10,1769860800249911355,'lease_resized','l170e860709a24ea3','train','gpu1','{UID}','now share 0.25, cap 0.5, memory 8 GiB, class batch');
INSERT INTO "events" VALUES(11,1769860800259789126,'device_cordoned','','','gpu5',-1,'fan');
CREATE TABLE holders(lease TEXT REFERENCES leases(id) ON DELETE CASCADE,pid INTEGER,start_ticks INTEGER,PRIMARY KEY(lease,pid,start_ticks));
CREATE TABLE journal(id TEXT PRIMARY KEY,what TEXT,state TEXT,error TEXT,uid INTEGER,started_ns INTEGER,step INTEGER,n_steps INTEGER,target TEXT,before TEXT,keeps_layout INTEGER,for_lease INTEGER, json TEXT DEFAULT '');
INSERT INTO "journal" VALUES('o23c217cc035c1645','apply layout.yaml','done','','{UID}',1769860800034922380,3,3,'version: 1
devices:
  - select: {index: 0}
    mig: on
    partitions: [{profile: 1g.5gb, count: 2}]
  - select: {index: 1}
    shares:
      - {name: set, share: 0.25, memory: 4GiB, class: latency}
      - {name: range, share: 0.1..0.3, class: batch}
','version: 1
devices:
  - select: {name: ["GPU-3773e735-4ebb-5c6c-a7ba-9e5442e9d3d0"]}
    mig: off
  - select: {name: ["GPU-b11febdf-6ba3-5de3-a46f-55a4c437dd17"]}
    mig: off
  - select: {name: ["GPU-f301c234-cba0-5c0b-9c45-cf0af14d93f6"]}
    mig: off
  - select: {name: ["GPU-c8851aa5-258b-5b4a-b17a-273a6cb2a9e0"]}
    mig: off
  - select: {name: ["GPU-db3f4fb3-0049-54c5-8fa8-dd59ead5f768"]}
    mig: off
  - select: {name: ["GPU-3f0833b8-9388-51c5-ac5f-081236156476"]}
    mig: off
  - select: {name: ["GPU-99a1f79a-953e-54dd-ab0d-d26c613fe7fa"]}
    mig: off
  - select: {name: ["GPU-a79bc14b-510d-5776-9785-5ebd057a682d"]}
    mig: off
',1,0,'{"id":"o23c217cc035c1645","what":"apply layout.yaml","state":"done","revision":6,"step":3,"steps":[{"state":"done","seconds":0.010205848999999999,"kind":"mig-mode","device":"gpu0","partition":"","text":"turn on MIG of gpu0"},{"state":"done","seconds":0.016191659000000001,"kind":"create","device":"gpu0","partition":"gpu0/1g.5gb@4","text":"create gpu0/1g.5gb@4"},{"state":"done","seconds":0.016206411,"kind":"create","device":"gpu0","partition":"gpu0/1g.5gb@5","text":"create gpu0/1g.5gb@5"}],"obstacles":[],"error":null,"started_at":"2026-01-31T12:00:00.500Z","ended_at":"2026-01-31T12:00:00.500Z"}');
INSERT INTO "journal" VALUES('od6dbd3c3e13f2505','create 1g.5gb on gpu0','running','','{UID}',1769860800138398704,1,1,'version: 1
devices:
  - select: {name: ["GPU-3773e735-4ebb-5c6c-a7ba-9e5442e9d3d0"]}
    mig: on
    partitions:
      - {profile: "1g.5gb", start: [4, 5]}
      - {profile: "1g.5gb"}
','version: 1
devices:
  - select: {name: ["GPU-3773e735-4ebb-5c6c-a7ba-9e5442e9d3d0"]}
    mig: on
    partitions:
      - {profile: "1g.5gb", start: [4, 5]}
  - select: {name: ["GPU-b11febdf-6ba3-5de3-a46f-55a4c437dd17"]}
    mig: off
  - select: {name: ["GPU-f301c234-cba0-5c0b-9c45-cf0af14d93f6"]}
    mig: off
  - select: {name: ["GPU-c8851aa5-258b-5b4a-b17a-273a6cb2a9e0"]}
    mig: off
  - select: {name: ["GPU-db3f4fb3-0049-54c5-8fa8-dd59ead5f768"]}
    mig: off
  - select: {name: ["GPU-3f0833b8-9388-51c5-ac5f-081236156476"]}
    mig: off
  - select: {name: ["GPU-99a1f79a-953e-54dd-ab0d-d26c613fe7fa"]}
    mig: off
  - select: {name: ["GPU-a79bc14b-510d-5776-9785-5ebd057a682d"]}
    mig: off
',0,0,'');
CREATE TABLE keys(subject TEXT,key TEXT,request TEXT,object TEXT,time_ns INTEGER,PRIMARY KEY(subject,key));
INSERT INTO "keys" VALUES('{USER}/','k','lease.create d3f3b5271f35eb0ee54f3dec81275acfcd7a436b','l4d9d298c5a31eb25',1769860800220058204);
CREATE TABLE layout(id INTEGER PRIMARY KEY CHECK(id=1),text TEXT);
INSERT INTO "layout" VALUES(1,'version: 1
devices:
  - select: {index: 0}
    mig: on
    partitions: [{profile: 1g.5gb, count: 2}]
  - select: {index: 1}
    shares:
      - {name: set, share: 0.25, memory: 4GiB, class: latency}
      - {name: range, share: 0.1..0.3, class: batch}
');
CREATE TABLE lease_devices(lease TEXT REFERENCES leases(id) ON DELETE CASCADE,position INTEGER,device_uuid TEXT,PRIMARY KEY(lease,position));
INSERT INTO "lease_devices" VALUES('l4d9d298c5a31eb25',1,'GPU-db3f4fb3-0049-54c5-8fa8-dd59ead5f768');
CREATE TABLE leases(id TEXT PRIMARY KEY,name TEXT,tenant TEXT,command TEXT,device_uuid TEXT,boot_id TEXT,uid INTEGER,gid INTEGER,compute_ppm INTEGER,cap_ppm INTEGER,memory_bytes INTEGER,class TEXT,overcommit INTEGER,is_queued INTEGER,created_ns INTEGER,holder_pid INTEGER,holder_start INTEGER,held_ns INTEGER,throttled_ns INTEGER,turns INTEGER,revocations INTEGER,overdue INTEGER, standing TEXT DEFAULT '', expires_ns INTEGER DEFAULT 0, least_ppm INTEGER DEFAULT 0, most_ppm INTEGER DEFAULT 0, spill_bytes INTEGER DEFAULT 0, sm_ppm INTEGER DEFAULT 0, sm_first_ppm INTEGER DEFAULT 0, is_kept INTEGER DEFAULT 0, admit TEXT DEFAULT 'holders');
INSERT INTO "leases" VALUES('l170e860709a24ea3','train','{USER}','python3','GPU-b11febdf-6ba3-5de3-a46f-55a4c437dd17','{BOOT}','{UID}','{GID}',250000,500000,8589934592,'batch',0,0,1769860800210142436,0,0,12500000000,250000000,3000,12,1,'',4133980800000000000,0,0,1073741824,250000,500000,1,'holders');
INSERT INTO "leases" VALUES('l687ca5fa5194ca47','range','{USER}','','GPU-b11febdf-6ba3-5de3-a46f-55a4c437dd17','{BOOT}','{UID}','{GID}',100000,0,4214436659,'normal',0,0,1769860800216915636,0,0,0,0,0,0,0,'',0,100000,600000,0,0,0,1,'socket');
INSERT INTO "leases" VALUES('l8d32dea472081864','later','{USER}','','GPU-b11febdf-6ba3-5de3-a46f-55a4c437dd17','{BOOT}','{UID}','{GID}',900000,0,37929929932,'normal',0,1,1769860800218225301,0,0,0,0,0,0,0,'',0,0,0,0,0,0,1,'holders');
INSERT INTO "leases" VALUES('lddce90e88cc5da9d','inside','{USER}','','GPU-b11febdf-6ba3-5de3-a46f-55a4c437dd17','{BOOT}','{UID}','{GID}',250000,0,4294967296,'latency',0,0,1769860800218963308,0,0,0,0,0,0,0,'gpu1/set',0,0,0,0,0,0,1,'holders');
INSERT INTO "leases" VALUES('l4d9d298c5a31eb25','whole','{USER}','sh','GPU-c8851aa5-258b-5b4a-b17a-273a6cb2a9e0','{BOOT}','{UID}','{GID}',1000000,0,42144366592,'normal',0,0,1769860800220137061,0,0,0,0,0,0,0,'',0,0,0,0,0,0,1,'holders');
INSERT INTO "leases" VALUES('lfdfe251f89d26382','part','{USER}','','MIG-807ab685-5f94-58ea-81a9-8d284da3a650','{BOOT}','{UID}','{GID}',500000,0,2550136832,'normal',1,0,1769860800231281133,0,0,0,0,0,0,0,'',0,0,0,0,0,0,1,'holders');
CREATE TABLE made(name TEXT PRIMARY KEY,turned_on INTEGER);
CREATE TABLE processes(lease TEXT REFERENCES leases(id) ON DELETE CASCADE,pid INTEGER,start_ticks INTEGER,slot INTEGER,attached_ns INTEGER,PRIMARY KEY(lease,pid,start_ticks,slot));
CREATE TABLE standing(name TEXT PRIMARY KEY,device_uuid TEXT,compute_ppm INTEGER,cap_ppm INTEGER,memory_bytes INTEGER,class TEXT, least_ppm INTEGER DEFAULT 0, most_ppm INTEGER DEFAULT 0);
INSERT INTO "standing" VALUES('gpu1/set','GPU-b11febdf-6ba3-5de3-a46f-55a4c437dd17',250000,0,4294967296,'latency',0,0);
INSERT INTO "standing" VALUES('gpu1/range','GPU-b11febdf-6ba3-5de3-a46f-55a4c437dd17',100000,0,4214436659,'batch',100000,300000);
CREATE TABLE tokens(id TEXT PRIMARY KEY,name TEXT,scope TEXT,tenant TEXT,hash BLOB,created_ns INTEGER,expires_ns INTEGER);
INSERT INTO "tokens" VALUES('5dd2a563fd92','look','viewer','',X'43909B08828A0A4FD0C133863B873E179CC24EC71C43F9D0C0816F060D28855B',1769860800260547583,4133980800000000000);
INSERT INTO "tokens" VALUES('dc20bd89696b','hers','tenant','{USER}',X'12E8EA25B80F16304C850B05C0FFA017AA0F8A08A9A2983104E73DA8413E5E6B',1769860800268391353,0);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('audit',13);
COMMIT;
PRAGMA user_version=9;
