BEGIN TRANSACTION;
CREATE TABLE events (
	id INTEGER NOT NULL, 
	t FLOAT NOT NULL, 
	type TEXT NOT NULL, 
	node TEXT NOT NULL, 
	data TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "events" VALUES(1099511627777,1.76000000011776661871e+09,'run_started','','{"worker":{"kind":"function","options":{"function":"golden_work:work"}},"sol":"model","sol_model":null,"luna_model":"local","base_url":null,"workspace":"{WORKSPACE}","assignment":{"goal":"build the hut of wood","context":"none","inputs":{"wood":"oak"},"constraints":[],"expected_output":{"description":"the hut"},"success_criteria":[{"text":"it stands"}],"stop_conditions":["a brick has no colour"]},"inputs":{},"result_file":null,"files":{"strategy":"{WORKSPACE}/golden.yaml"},"strategy":{"name":"golden","description":"The strategy of the golden runs, kept beside them so that no change of a shipped one touches them.","attempt":"first","max_depth":5,"arity":2,"splitter":"auto","dimensions":["unknown_a_unknown_b","discovery_execution","reproduction_fix","interface_implementation","data_logic","local_integration"],"patience":5,"monitors":{},"max_replans":2,"integrate":"sol","concurrency":4,"context_bytes":4096,"limits":{"timeout_s":null,"inactivity_s":null},"budget":{"calls":null,"tokens":null,"cost":null,"seconds":null,"per_call":{"tokens":null,"cost":null}},"rules":{"report":[{"condition":"SUCCESS","next":"validate"},{"condition":"STUCK","next":"split"},{"condition":"FAILED:premise","next":"replan"},{"condition":"FAILED","next":"split"}],"validation":[{"condition":"passed","next":"accept"},{"condition":"unchecked","next":"accept"},{"condition":"failed:parts","next":"attempt"},{"condition":"failed","next":"split"}],"children":[{"condition":"all(\"success\")","next":"integrate"},{"condition":"any(\"cancelled\")","next":"fail"},{"condition":"any(\"exhausted\")","next":"fail"},{"condition":"any(\"failed\")","next":"replan"},{"condition":"any(\"blocked\")","next":"fail"},{"condition":"all(\"skipped\")","next":"set_aside"},{"condition":"any(\"skipped\")","next":"integrate"}],"depth_limit":[{"condition":"remedy:redefine","next":"redefine"},{"condition":"remedy:ask","next":"ask"},{"condition":"remedy:give_up","next":"give_up"}]}},"file_strategy":{"name":"golden","description":"The strategy of the golden runs, kept beside them so that no change of a shipped one touches them.","attempt":"first","max_depth":5,"arity":2,"splitter":"auto","dimensions":["unknown_a_unknown_b","discovery_execution","reproduction_fix","interface_implementation","data_logic","local_integration"],"patience":5,"monitors":{},"max_replans":2,"integrate":"sol","concurrency":4,"context_bytes":4096,"limits":{"timeout_s":null,"inactivity_s":null},"budget":{"calls":null,"tokens":null,"cost":null,"seconds":null,"per_call":{"tokens":null,"cost":null}},"rules":{"report":[{"condition":"SUCCESS","next":"validate"},{"condition":"STUCK","next":"split"},{"condition":"FAILED:premise","next":"replan"},{"condition":"FAILED","next":"split"}],"validation":[{"condition":"passed","next":"accept"},{"condition":"unchecked","next":"accept"},{"condition":"failed:parts","next":"attempt"},{"condition":"failed","next":"split"}],"children":[{"condition":"all(\"success\")","next":"integrate"},{"condition":"any(\"cancelled\")","next":"fail"},{"condition":"any(\"exhausted\")","next":"fail"},{"condition":"any(\"failed\")","next":"replan"},{"condition":"any(\"blocked\")","next":"fail"},{"condition":"all(\"skipped\")","next":"set_aside"},{"condition":"any(\"skipped\")","next":"integrate"}],"depth_limit":[{"condition":"remedy:redefine","next":"redefine"},{"condition":"remedy:ask","next":"ask"},{"condition":"remedy:give_up","next":"give_up"}]}}}');
INSERT INTO "events" VALUES(1099511627778,1.76000000011776661871e+09,'created','','{"assignment":{"goal":"build the hut of wood","context":"none","inputs":{"wood":"oak"},"constraints":[],"expected_output":{"description":"the hut"},"success_criteria":[{"text":"it stands"}],"stop_conditions":["a brick has no colour"]}}');
INSERT INTO "events" VALUES(1099511627779,1.76000000011776661871e+09,'started','','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627780,1.76000000016469955446e+09,'progressed','','{"kind":"attempt","n":1,"usage":{"tokens":120,"cost":0.001},"event":{"type":"spent","usage":{"calls":0,"tokens":120,"cost":0.001,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627781,1.76000000016469955446e+09,'reported','','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.014017,"report":{"blocker":"build the hut of wood is more than one thing","known":["there is wood"],"unknown":["how much of it"],"status":"STUCK","kind":"other"}}');
INSERT INTO "events" VALUES(1099511627782,1.76000000016469955446e+09,'stopped','','{"n":1}');
INSERT INTO "events" VALUES(1099511627783,1.76000000016469955446e+09,'analysed','','{"kind":"other","blocker":"build the hut of wood is more than one thing","unknown":["how much of it"]}');
INSERT INTO "events" VALUES(1099511627784,1.76000000016469955446e+09,'decided','','{"section":"report","rule":1,"kind":"label","condition":"STUCK","next":"split"}');
INSERT INTO "events" VALUES(1099511627785,1.76000000016469955446e+09,'started','','{"kind":"split","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627786,1.76000000018347120284e+09,'answer','','{"kind":"split","n":1,"answer":{"children":[{"goal":"cut the planks of the walls","claim":"simpler","success_criteria":[{"text":"done: cut the planks of the walls"}],"expected_output":null,"inputs":null,"worker":null},{"goal":"paint the door of the hut","claim":"simpler","success_criteria":[{"text":"done: paint the door of the hut"}],"expected_output":null,"inputs":null,"worker":null}],"sequential":false,"dimension":"data_logic","reason":"two things","how":"model"},"usage":{"calls":1},"seconds":0.000112}');
INSERT INTO "events" VALUES(1099511627787,1.76000000018347120284e+09,'split','','{"children":["0","1"],"goals":["cut the planks of the walls","paint the door of the hut"],"how":"model","dimension":"data_logic","sequential":false,"reason":"two things","because":"other"}');
INSERT INTO "events" VALUES(1099511627788,1.76000000018347120284e+09,'created','0','{"assignment":{"goal":"cut the planks of the walls","success_criteria":[{"text":"done: cut the planks of the walls"}],"expected_output":{"description":"The result of: cut the planks of the walls"}},"claim":"simpler"}');
INSERT INTO "events" VALUES(1099511627789,1.76000000018347120284e+09,'created','1','{"assignment":{"goal":"paint the door of the hut","success_criteria":[{"text":"done: paint the door of the hut"}],"expected_output":{"description":"The result of: paint the door of the hut"}},"claim":"simpler"}');
INSERT INTO "events" VALUES(1099511627790,1.76000000018347120284e+09,'started','0','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627791,1.76000000018347120284e+09,'started','1','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627792,1.76000000021232414241e+09,'progressed','0','{"kind":"attempt","n":1,"event":{"type":"said","text":"I am going to cut the planks of the walls."}}');
INSERT INTO "events" VALUES(1099511627793,1.76000000021232414241e+09,'progressed','0','{"kind":"attempt","n":1,"event":{"type":"action","name":"saw","arguments":{"what":"cut the planks of the walls"},"observation":"it fits","error":false,"paths":["wood.txt"]}}');
INSERT INTO "events" VALUES(1099511627794,1.76000000021232414241e+09,'progressed','0','{"kind":"attempt","n":1,"event":{"type":"partial","key":"half","value":{"of":"cut the planks of the walls","again":false}}}');
INSERT INTO "events" VALUES(1099511627795,1.76000000021232414241e+09,'progressed','0','{"kind":"attempt","n":1,"usage":{"tokens":300,"cost":0.002},"event":{"type":"spent","usage":{"calls":0,"tokens":300,"cost":0.002,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627796,1.76000000021232414241e+09,'reported','0','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.019338,"report":{"summary":"done","result":{"did":"cut the planks of the walls","answer":""},"evidence":["seen"],"status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627797,1.76000000021232414241e+09,'decided','0','{"section":"report","rule":0,"kind":"label","condition":"SUCCESS","next":"validate"}');
INSERT INTO "events" VALUES(1099511627798,1.76000000021232414241e+09,'checked','0','{"kind":"check","n":0,"results":[{"criterion":"done: cut the planks of the walls","kind":"text","ok":null,"detail":""}]}');
INSERT INTO "events" VALUES(1099511627799,1.76000000021232414241e+09,'progressed','1','{"kind":"attempt","n":1,"event":{"type":"said","text":"I am going to paint the door of the hut."}}');
INSERT INTO "events" VALUES(1099511627800,1.76000000021232414241e+09,'progressed','1','{"kind":"attempt","n":1,"event":{"type":"action","name":"saw","arguments":{"what":"paint the door of the hut"},"observation":"it fits","error":false,"paths":["wood.txt"]}}');
INSERT INTO "events" VALUES(1099511627801,1.76000000021232414241e+09,'progressed','1','{"kind":"attempt","n":1,"event":{"type":"partial","key":"half","value":{"of":"paint the door of the hut","again":false}}}');
INSERT INTO "events" VALUES(1099511627802,1.76000000021232414241e+09,'progressed','1','{"kind":"attempt","n":1,"usage":{"tokens":300,"cost":0.002},"event":{"type":"spent","usage":{"calls":0,"tokens":300,"cost":0.002,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627803,1.76000000021232414241e+09,'started','0','{"kind":"judge","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627804,1.7600000002242891788e+09,'reported','1','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.019851,"report":{"kind":"needs_human","blocker":"nobody said which colour","question":"Which colour?","status":"STUCK"}}');
INSERT INTO "events" VALUES(1099511627805,1.7600000002242891788e+09,'stopped','1','{"n":1}');
INSERT INTO "events" VALUES(1099511627806,1.7600000002242891788e+09,'analysed','1','{"kind":"needs_human","blocker":"nobody said which colour"}');
INSERT INTO "events" VALUES(1099511627807,1.7600000002242891788e+09,'asked','1','{"question":"Which colour?","kind":"needs_human"}');
INSERT INTO "events" VALUES(1099511627808,1.7600000002242891788e+09,'answer','0','{"kind":"judge","n":1,"answer":{"verdicts":[{"holds":true,"reason":"seen"}]},"usage":{"calls":1},"seconds":7.8e-05}');
INSERT INTO "events" VALUES(1099511627809,1.7600000002242891788e+09,'decided','0','{"section":"validation","rule":0,"kind":"label","condition":"passed","next":"accept"}');
INSERT INTO "events" VALUES(1099511627810,1.7600000002242891788e+09,'settled','0','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627811,1.7600000002242891788e+09,'run_status','','{"status":"waiting"}');
CREATE TABLE requests (
	id INTEGER NOT NULL, 
	run INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	t FLOAT NOT NULL, 
	"by" TEXT NOT NULL, 
	taken INTEGER, 
	PRIMARY KEY (id), 
	FOREIGN KEY(run) REFERENCES runs (no)
);
CREATE TABLE runs (
	no INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	created_t FLOAT NOT NULL, 
	title TEXT NOT NULL, 
	meta TEXT NOT NULL, 
	status TEXT NOT NULL, 
	summary TEXT, 
	seq INTEGER NOT NULL, 
	updated_t FLOAT NOT NULL, 
	epoch INTEGER NOT NULL, 
	host TEXT, 
	pid INTEGER, 
	started FLOAT, 
	token TEXT, 
	claimed_t FLOAT, 
	beat_t FLOAT, 
	PRIMARY KEY (no), 
	UNIQUE (id)
);
INSERT INTO "runs" VALUES(1,'jcj3dn',1.76000000002979755404e+09,'build the hut of wood','{}','waiting','{"nodes":3,"calls":5,"tokens":720,"cost":0.005,"elapsed_s":0.109}',35,1.7600000002242891788e+09,1,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE sol_journal (
	version INTEGER NOT NULL
);
INSERT INTO "sol_journal" VALUES(1);
CREATE INDEX requests_waiting ON requests (run) WHERE taken IS NULL;
COMMIT;
