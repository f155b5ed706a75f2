BEGIN TRANSACTION;
CREATE TABLE events (
	id INTEGER NOT NULL, 
	t FLOAT NOT NULL, 
	type TEXT NOT NULL, 
	node TEXT NOT NULL, 
	data TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "events" VALUES(1099511627777,1.76000000315735411642e+09,'run_started','','{"worker":{"kind":"given"},"sol":"model","sol_model":null,"luna_model":"local","base_url":null,"workspace":"{WORKSPACE}","assignment":{"goal":"mend the boat","context":"none","inputs":{},"constraints":[],"expected_output":{"description":"a boat"},"success_criteria":[{"text":"it floats"}],"stop_conditions":["a brick has no colour"]},"inputs":{},"result_file":null,"files":{"strategy":"{WORKSPACE}/golden.yaml"},"strategy":{"name":"golden","description":"The strategy of the golden runs, kept beside them so that no change of a shipped one touches them.","attempt":"first","max_depth":5,"arity":2,"splitter":"auto","dimensions":["unknown_a_unknown_b","discovery_execution","reproduction_fix","interface_implementation","data_logic","local_integration"],"patience":5,"monitors":{},"max_replans":2,"integrate":"sol","concurrency":4,"context_bytes":4096,"limits":{"timeout_s":null,"inactivity_s":null},"budget":{"calls":null,"tokens":null,"cost":null,"seconds":null,"per_call":{"tokens":null,"cost":null}},"rules":{"report":[{"condition":"SUCCESS","next":"validate"},{"condition":"STUCK","next":"split"},{"condition":"FAILED:premise","next":"replan"},{"condition":"FAILED","next":"split"}],"validation":[{"condition":"passed","next":"accept"},{"condition":"unchecked","next":"accept"},{"condition":"failed:parts","next":"attempt"},{"condition":"failed","next":"split"}],"children":[{"condition":"all(\"success\")","next":"integrate"},{"condition":"any(\"cancelled\")","next":"fail"},{"condition":"any(\"exhausted\")","next":"fail"},{"condition":"any(\"failed\")","next":"replan"},{"condition":"any(\"blocked\")","next":"fail"},{"condition":"all(\"skipped\")","next":"set_aside"},{"condition":"any(\"skipped\")","next":"integrate"}],"depth_limit":[{"condition":"remedy:redefine","next":"redefine"},{"condition":"remedy:ask","next":"ask"},{"condition":"remedy:give_up","next":"give_up"}]}},"file_strategy":{"name":"golden","description":"The strategy of the golden runs, kept beside them so that no change of a shipped one touches them.","attempt":"first","max_depth":5,"arity":2,"splitter":"auto","dimensions":["unknown_a_unknown_b","discovery_execution","reproduction_fix","interface_implementation","data_logic","local_integration"],"patience":5,"monitors":{},"max_replans":2,"integrate":"sol","concurrency":4,"context_bytes":4096,"limits":{"timeout_s":null,"inactivity_s":null},"budget":{"calls":null,"tokens":null,"cost":null,"seconds":null,"per_call":{"tokens":null,"cost":null}},"rules":{"report":[{"condition":"SUCCESS","next":"validate"},{"condition":"STUCK","next":"split"},{"condition":"FAILED:premise","next":"replan"},{"condition":"FAILED","next":"split"}],"validation":[{"condition":"passed","next":"accept"},{"condition":"unchecked","next":"accept"},{"condition":"failed:parts","next":"attempt"},{"condition":"failed","next":"split"}],"children":[{"condition":"all(\"success\")","next":"integrate"},{"condition":"any(\"cancelled\")","next":"fail"},{"condition":"any(\"exhausted\")","next":"fail"},{"condition":"any(\"failed\")","next":"replan"},{"condition":"any(\"blocked\")","next":"fail"},{"condition":"all(\"skipped\")","next":"set_aside"},{"condition":"any(\"skipped\")","next":"integrate"}],"depth_limit":[{"condition":"remedy:redefine","next":"redefine"},{"condition":"remedy:ask","next":"ask"},{"condition":"remedy:give_up","next":"give_up"}]}},"isolation":"worktree","base":"560e2220ff2221b84537073921f820d096c00c34","places":"{WORKSPACE}/.sol"}');
INSERT INTO "events" VALUES(1099511627778,1.76000000315735411642e+09,'created','','{"assignment":{"goal":"mend the boat","context":"none","inputs":{},"constraints":[],"expected_output":{"description":"a boat"},"success_criteria":[{"text":"it floats"}],"stop_conditions":["a brick has no colour"]}}');
INSERT INTO "events" VALUES(1099511627779,1.76000000315735411642e+09,'started','','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627780,1.76000000376833891867e+09,'reported','','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.000685,"report":{"blocker":"two things at once","status":"STUCK","kind":"other"},"snapshot":"28a0f26a87b197e0d1cae11f711aa09ca95718c7"}');
INSERT INTO "events" VALUES(1099511627781,1.76000000376833891867e+09,'stopped','','{"n":1}');
INSERT INTO "events" VALUES(1099511627782,1.76000000376833891867e+09,'analysed','','{"kind":"other","blocker":"two things at once"}');
INSERT INTO "events" VALUES(1099511627783,1.76000000376833891867e+09,'decided','','{"section":"report","rule":1,"kind":"label","condition":"STUCK","next":"split"}');
INSERT INTO "events" VALUES(1099511627784,1.76000000376833891867e+09,'started','','{"kind":"split","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627785,1.76000000389673852919e+09,'answer','','{"kind":"split","n":1,"answer":{"children":[{"goal":"mend the door of the boat","claim":"simpler","success_criteria":[{"text":"done: mend the door of the boat"}],"expected_output":null,"inputs":null,"worker":null},{"goal":"mend the lamp of the boat","claim":"simpler","success_criteria":[{"text":"done: mend the lamp of the boat"}],"expected_output":null,"inputs":null,"worker":null}],"sequential":false,"dimension":"data_logic","reason":"two things","how":"model"},"usage":{"calls":1},"seconds":0.000204}');
INSERT INTO "events" VALUES(1099511627786,1.76000000389673852919e+09,'split','','{"children":["0","1"],"goals":["mend the door of the boat","mend the lamp of the boat"],"how":"model","dimension":"data_logic","sequential":false,"reason":"two things","because":"other"}');
INSERT INTO "events" VALUES(1099511627787,1.76000000389673852919e+09,'created','0','{"assignment":{"goal":"mend the door of the boat","success_criteria":[{"text":"done: mend the door of the boat"}],"expected_output":{"description":"The result of: mend the door of the boat"}},"claim":"simpler"}');
INSERT INTO "events" VALUES(1099511627788,1.76000000389673852919e+09,'created','1','{"assignment":{"goal":"mend the lamp of the boat","success_criteria":[{"text":"done: mend the lamp of the boat"}],"expected_output":{"description":"The result of: mend the lamp of the boat"}},"claim":"simpler"}');
INSERT INTO "events" VALUES(1099511627789,1.76000000389673852919e+09,'started','0','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627790,1.76000000389673852919e+09,'started','1','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627791,1.76000000443241786957e+09,'reported','1','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.000787,"report":{"summary":"done","result":"lamp","status":"SUCCESS"},"snapshot":"5acab96a7a3e074669de129fcb1a71b2694226e9"}');
INSERT INTO "events" VALUES(1099511627792,1.76000000443241786957e+09,'decided','1','{"section":"report","rule":0,"kind":"label","condition":"SUCCESS","next":"validate"}');
INSERT INTO "events" VALUES(1099511627793,1.76000000443241786957e+09,'checked','1','{"kind":"check","n":0,"results":[{"criterion":"done: mend the lamp of the boat","kind":"text","ok":null,"detail":""}]}');
INSERT INTO "events" VALUES(1099511627794,1.76000000443241786957e+09,'started','1','{"kind":"judge","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627795,1.76000000444571757314e+09,'reported','0','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.000755,"report":{"summary":"done","result":"door","status":"SUCCESS"},"snapshot":"a14b756839f95d3ff18f41f04a5190a6f7692b07"}');
INSERT INTO "events" VALUES(1099511627796,1.76000000444571757314e+09,'decided','0','{"section":"report","rule":0,"kind":"label","condition":"SUCCESS","next":"validate"}');
INSERT INTO "events" VALUES(1099511627797,1.76000000444571757314e+09,'checked','0','{"kind":"check","n":0,"results":[{"criterion":"done: mend the door of the boat","kind":"text","ok":null,"detail":""}]}');
INSERT INTO "events" VALUES(1099511627798,1.76000000444571757314e+09,'answer','1','{"kind":"judge","n":1,"answer":{"verdicts":[{"holds":true,"reason":"seen"}]},"usage":{"calls":1},"seconds":0.000127}');
INSERT INTO "events" VALUES(1099511627799,1.76000000444571757314e+09,'decided','1','{"section":"validation","rule":0,"kind":"label","condition":"passed","next":"accept"}');
INSERT INTO "events" VALUES(1099511627800,1.76000000444571757314e+09,'settled','1','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627801,1.76000000444571757314e+09,'started','0','{"kind":"judge","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627802,1.76000000446857953069e+09,'answer','0','{"kind":"judge","n":1,"answer":{"verdicts":[{"holds":true,"reason":"seen"}]},"usage":{"calls":1},"seconds":0.00015}');
INSERT INTO "events" VALUES(1099511627803,1.76000000446857953069e+09,'decided','0','{"section":"validation","rule":0,"kind":"label","condition":"passed","next":"accept"}');
INSERT INTO "events" VALUES(1099511627804,1.76000000446857953069e+09,'settled','0','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627805,1.76000000446857953069e+09,'decided','','{"section":"children","rule":0,"kind":"aggregate","condition":"all(\"success\")","next":"integrate","read":{"children":[["0","success"],["1","success"]]}}');
INSERT INTO "events" VALUES(1099511627806,1.76000000446857953069e+09,'started','','{"kind":"merge","n":1}');
INSERT INTO "events" VALUES(1099511627807,1.76000000519658637053e+09,'answer','','{"kind":"merge","n":1,"answer":{"snapshot":"11e2c5694fbeae20042ba294eb02b17364f45295","merged":["0","1"],"conflict":null},"seconds":0.663557}');
INSERT INTO "events" VALUES(1099511627808,1.76000000519658637053e+09,'started','','{"kind":"integrate","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627809,1.76000000521682310097e+09,'answer','','{"kind":"integrate","n":1,"answer":{"result":{"0":"door","1":"lamp"},"summary":"put together","checks":{"no_contradiction":{"ok":true,"note":"about no_contradiction"},"interfaces_agree":{"ok":true,"note":"about interfaces_agree"},"goal_met":{"ok":true,"note":"about goal_met"},"nothing_open":{"ok":true,"note":"about nothing_open"},"parts_imply_whole":{"ok":true,"note":"about parts_imply_whole"}},"open":[]},"usage":{"calls":1},"seconds":0.000261}');
INSERT INTO "events" VALUES(1099511627810,1.76000000521682310097e+09,'checked','','{"kind":"check","n":0,"results":[{"criterion":"it floats","kind":"text","ok":null,"detail":""}]}');
INSERT INTO "events" VALUES(1099511627811,1.76000000521682310097e+09,'started','','{"kind":"judge","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627812,1.76000000525290417672e+09,'answer','','{"kind":"judge","n":1,"answer":{"verdicts":[{"holds":true,"reason":"seen"}]},"usage":{"calls":1},"seconds":0.000122}');
INSERT INTO "events" VALUES(1099511627813,1.76000000525290417672e+09,'decided','','{"section":"validation","rule":0,"kind":"label","condition":"passed","next":"accept"}');
INSERT INTO "events" VALUES(1099511627814,1.76000000525290417672e+09,'started','','{"kind":"land","n":1}');
INSERT INTO "events" VALUES(1099511627815,1.760000005404877901e+09,'answer','','{"kind":"land","n":1,"answer":{"landed":true,"where":"","note":"The workspace was fast-forwarded from 560e2220ff22 to 11e2c5694fbe.","changed":["door.txt","lamp.txt"]},"seconds":0.136769}');
INSERT INTO "events" VALUES(1099511627816,1.760000005404877901e+09,'settled','','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627817,1.760000005404877901e+09,'run_status','','{"status":"success"}');
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
INSERT INTO "runs" VALUES(1,'z3sk38',1.76000000005520296098e+09,'mend the boat','{}','success','{"nodes":3,"calls":8,"tokens":0,"cost":0.0,"elapsed_s":4.213}',41,1.760000005404877901e+09,1,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE sol_journal (
	version INTEGER NOT NULL
);
INSERT INTO "sol_journal" VALUES(1);
CREATE INDEX requests_waiting ON requests (run) WHERE taken IS NULL;
COMMIT;
